#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

// The functions behind one daemon; `context` is handed to each of them.
struct alongside_mhd_callbacks {
    void *context;
    void *(*request_line)(void *context, const char *uri, struct MHD_Connection *connection);
    size_t (*unescape)(void *context, struct MHD_Connection *connection, char *text);
    MHD_AccessHandlerCallback handle;
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback connection;
    MHD_LogCallback log;
};

// MHD_start_daemon takes its options as variadic arguments, which Swift cannot pass.
static inline struct MHD_Daemon *alongside_mhd_start(
    unsigned int flags,
    int listener,
    unsigned int connection_limit,
    unsigned int idle_seconds,
    size_t pool_bytes,
    const struct alongside_mhd_callbacks *callbacks
) {
    return MHD_start_daemon(
        flags, 0, NULL, NULL, callbacks->handle, callbacks->context,
        MHD_OPTION_EXTERNAL_LOGGER, callbacks->log, callbacks->context,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listener,
        MHD_OPTION_STRICT_FOR_CLIENT, (int)1,
        MHD_OPTION_CONNECTION_LIMIT, connection_limit,
        MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, pool_bytes,
        MHD_OPTION_URI_LOG_CALLBACK, callbacks->request_line, callbacks->context,
        MHD_OPTION_UNESCAPE_CALLBACK, callbacks->unescape, callbacks->context,
        MHD_OPTION_NOTIFY_COMPLETED, callbacks->completed, callbacks->context,
        MHD_OPTION_NOTIFY_CONNECTION, callbacks->connection, callbacks->context,
        MHD_OPTION_END
    );
}

// MHD_upgrade_action and MHD_get_connection_info are variadic.
static inline enum MHD_Result alongside_mhd_close_upgrade(
    struct MHD_UpgradeResponseHandle *handle
) {
    return MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}

static inline int alongside_mhd_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

static inline const struct sockaddr *alongside_mhd_peer(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info == NULL ? NULL : info->client_addr;
}

static inline void *alongside_mhd_socket_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

// fcntl is variadic.
static inline int alongside_mhd_duplicate(int descriptor) {
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

// Lets reads wait again; for tests of sockets that have left the library.
static inline int alongside_mhd_block(int descriptor) {
    return fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
}

static inline int alongside_mhd_format(
    char *text, size_t size, const char *format, va_list arguments
) {
    return vsnprintf(text, size, format, arguments);
}

// `errno` is a macro.
static inline int alongside_mhd_errno(void) { return errno; }
