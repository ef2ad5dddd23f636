#pragma once

// System calls that the Glibc module does not carry.
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// `errno` is a macro; after a call across a module boundary it is read here.
static inline int alongside_errno(void) { return errno; }

// getopt keeps its state in globals that Swift does not let pass. Zero makes glibc start afresh.
static inline void alongside_getopt_reset(void) { optind = 0; }
static inline int alongside_getopt_index(void) { return optind; }
static inline const char *alongside_getopt_argument(void) { return optarg; }
