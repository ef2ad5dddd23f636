#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdlib.h>

// Memory for one message, freed at once. protobuf-c asks for it through C function pointers, once per
// field, so it lives here. Never call a generated `free_unpacked` on a message that lies in an arena.
typedef struct alongside_arena_chunk {
    struct alongside_arena_chunk *previous;
} alongside_arena_chunk;

typedef struct alongside_arena {
    ProtobufCAllocator allocator;
    uint8_t *next;
    uint8_t *end;
    alongside_arena_chunk *chunks;
    size_t chunk_size;
    // Bytes that may still be asked of malloc: what a hostile message can make us allocate.
    size_t budget;
} alongside_arena;

static inline void *alongside_arena_allocate(void *opaque, size_t size) {
    alongside_arena *arena = (alongside_arena *)opaque;
    if (size > SIZE_MAX / 4) return NULL;
    size_t rounded = (size + 15) & ~(size_t)15;
    if (rounded == 0) rounded = 16;
    if ((size_t)(arena->end - arena->next) < rounded) {
        size_t wanted = rounded + 16;
        if (wanted < arena->chunk_size) wanted = arena->chunk_size;
        if (wanted > arena->budget) return NULL;
        alongside_arena_chunk *chunk = (alongside_arena_chunk *)malloc(wanted);
        if (chunk == NULL) return NULL;
        arena->budget -= wanted;
        chunk->previous = arena->chunks;
        arena->chunks = chunk;
        arena->next = (uint8_t *)chunk + 16;
        arena->end = (uint8_t *)chunk + wanted;
        if (arena->chunk_size < ((size_t)1 << 20)) arena->chunk_size *= 2;
    }
    void *result = arena->next;
    arena->next += rounded;
    return result;
}

static inline void alongside_arena_release(void *opaque, void *pointer) {
    (void)opaque;
    (void)pointer;
}

// NULL when there is no memory. The first chunk has `chunk_size` bytes, later ones more.
static inline alongside_arena *alongside_arena_create(size_t chunk_size, size_t budget) {
    alongside_arena *arena = (alongside_arena *)calloc(1, sizeof(alongside_arena));
    if (arena == NULL) return NULL;
    arena->allocator.alloc = alongside_arena_allocate;
    arena->allocator.free = alongside_arena_release;
    arena->allocator.allocator_data = arena;
    arena->chunk_size = chunk_size < 256 ? 256 : chunk_size;
    arena->budget = budget;
    return arena;
}

static inline void alongside_arena_destroy(alongside_arena *arena) {
    if (arena == NULL) return;
    alongside_arena_chunk *chunk = arena->chunks;
    while (chunk != NULL) {
        alongside_arena_chunk *previous = chunk->previous;
        free(chunk);
        chunk = previous;
    }
    free(arena);
}
