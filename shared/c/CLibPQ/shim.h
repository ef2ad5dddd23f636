#pragma once

#include <libpq-fe.h>
#include <sys/prctl.h>

// `prctl` is variadic, which Swift does not import; names the calling thread (15 bytes are kept).
static inline int alongside_pq_name_thread(const char *name) { return prctl(PR_SET_NAME, name); }
