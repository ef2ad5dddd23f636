#pragma once

// System calls that the Glibc module does not carry. No _GNU_SOURCE: it renames members of fd_set and other structs, and Swift then
// finds two definitions of them in the modules it imports together.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <malloc.h>
#include <pwd.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/close_range.h>
#include <time.h>
#include <unistd.h>

// `errno` is a macro; after a call across a module boundary it is read here.
static inline int alongside_errno(void) { return errno; }

// getopt keeps its state in globals that Swift does not let pass. Zero makes glibc start afresh.
static inline void alongside_getopt_reset(void) { optind = 0; }
static inline int alongside_getopt_index(void) { return optind; }
static inline const char *alongside_getopt_argument(void) { return optarg; }

// Starts a program as a child that ends with its parent's thread, in a process group of its own (so that Ctrl-C reaches the parent
// alone and it decides the order), with default signals and output appended to `output`. posix_spawn cannot set the death signal.
// Only async-signal-safe calls happen between fork and exec. Returns the process id, or -1 with errno.
static inline pid_t alongside_spawn(const char *path, char *const arguments[], char *const environment[],
                                    int output, uid_t user, gid_t group) {
    pid_t parent = getpid();
    pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);
    setpgid(0, 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, 0);
    int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGQUIT};
    for (unsigned index = 0; index < sizeof signals / sizeof *signals; index++) signal(signals[index], SIG_DFL);
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0) dup2(null, 0);
    if (output >= 0) { dup2(output, 1); dup2(output, 2); }
    // What we were given by whoever started us is not theirs; closed at exec, so that a failure before it still can be told.
    // The flag needs Linux 5.11; before it, the table is walked as far as any of our programs fills it.
    if (syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) {
        for (int descriptor = 3; descriptor < 65536; descriptor++) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    }
    if (user != (uid_t)-1) {
        if (setgroups(0, 0) != 0 || setgid(group) != 0 || setuid(user) != 0) _exit(126);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
    }
    execve(path, arguments, environment);
    _exit(127);
}
