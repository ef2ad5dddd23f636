#pragma once

#include <zlib.h>

// deflateInit2 and inflateInit2 are macros; 16 + MAX_WBITS asks for the gzip wrapper (RFC 1952).
static inline int alongside_zlib_begin_gzip(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
}

static inline int alongside_zlib_begin_gunzip(z_stream *stream) {
    return inflateInit2(stream, 16 + MAX_WBITS);
}
