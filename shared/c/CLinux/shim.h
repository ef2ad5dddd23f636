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
