/* SPDX-License-Identifier: MIT */
/* http-library.h - libmicrohttpd, loaded when a server starts and not with the command.
 *
 * It depends on GnuTLS, whose start costs every process 8 ms.  So nothing is linked with
 * it: these functions are looked up by name, and callers write their usual names. */
#ifndef TT_HTTP_LIBRARY_H
#define TT_HTTP_LIBRARY_H

#include <microhttpd.h>

#define TT_MICROHTTPD(F)                                                                 \
    F(MHD_add_response_header)                                                           \
    F(MHD_create_response_from_buffer)                                                   \
    F(MHD_destroy_response)                                                              \
    F(MHD_get_connection_info)                                                           \
    F(MHD_get_daemon_info)                                                               \
    F(MHD_lookup_connection_value)                                                       \
    F(MHD_queue_response)                                                                \
    F(MHD_resume_connection)                                                             \
    F(MHD_start_daemon)                                                                  \
    F(MHD_stop_daemon)                                                                   \
    F(MHD_suspend_connection)

struct tt_microhttpd {
#define TT_FIELD(name) __typeof__(&(name)) at_##name;
    TT_MICROHTTPD(TT_FIELD)
#undef TT_FIELD
};

extern struct tt_microhttpd tt_microhttpd;

/* 0, or -1 with errno ELIBACC if the library is not installed.  Call it before any other
 * function, from one thread; again does nothing. */
int tt_microhttpd_load(void);

#ifndef TT_MICROHTTPD_NAMES
#define MHD_add_response_header tt_microhttpd.at_MHD_add_response_header
#define MHD_create_response_from_buffer tt_microhttpd.at_MHD_create_response_from_buffer
#define MHD_destroy_response tt_microhttpd.at_MHD_destroy_response
#define MHD_get_connection_info tt_microhttpd.at_MHD_get_connection_info
#define MHD_get_daemon_info tt_microhttpd.at_MHD_get_daemon_info
#define MHD_lookup_connection_value tt_microhttpd.at_MHD_lookup_connection_value
#define MHD_queue_response tt_microhttpd.at_MHD_queue_response
#define MHD_resume_connection tt_microhttpd.at_MHD_resume_connection
#define MHD_start_daemon tt_microhttpd.at_MHD_start_daemon
#define MHD_stop_daemon tt_microhttpd.at_MHD_stop_daemon
#define MHD_suspend_connection tt_microhttpd.at_MHD_suspend_connection
#endif

#endif
