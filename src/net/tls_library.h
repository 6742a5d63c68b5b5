/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The functions of OpenSSL that net/tls.c calls, looked up when they are wanted: a table of
 * pointers, each named and typed as in OpenSSL's headers. All of them are in 1.1 and in 3. */
#ifndef DLOCK_NET_TLS_LIBRARY_H
#define DLOCK_NET_TLS_LIBRARY_H

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/problem.h"

#define TLS_LIBRARY_FUNCTIONS(X)                                                                   \
	X(OPENSSL_init_ssl)                                                                        \
	X(TLS_client_method)                                                                       \
	X(SSL_CTX_new)                                                                             \
	X(SSL_CTX_free)                                                                            \
	X(SSL_CTX_ctrl)                                                                            \
	X(SSL_CTX_set_verify)                                                                      \
	X(SSL_CTX_set_default_verify_paths)                                                        \
	X(SSL_CTX_load_verify_locations)                                                           \
	X(SSL_CTX_use_certificate_chain_file)                                                      \
	X(SSL_CTX_use_PrivateKey_file)                                                             \
	X(SSL_CTX_check_private_key)                                                               \
	X(SSL_CTX_set_default_passwd_cb)                                                           \
	X(SSL_CTX_set_client_cert_cb)                                                              \
	X(SSL_new)                                                                                 \
	X(SSL_free)                                                                                \
	X(SSL_ctrl)                                                                                \
	X(SSL_set_fd)                                                                              \
	X(SSL_set_ex_data)                                                                         \
	X(SSL_get_ex_data)                                                                         \
	X(SSL_get0_param)                                                                          \
	X(SSL_connect)                                                                             \
	X(SSL_read)                                                                                \
	X(SSL_peek)                                                                                \
	X(SSL_write)                                                                               \
	X(SSL_pending)                                                                             \
	X(SSL_get_error)                                                                           \
	X(SSL_get_verify_result)                                                                   \
	X(SSL_get_rbio)                                                                            \
	X(BIO_number_read)                                                                         \
	X(ERR_get_error)                                                                           \
	X(ERR_clear_error)                                                                         \
	X(ERR_lib_error_string)                                                                    \
	X(ERR_reason_error_string)                                                                 \
	X(X509_VERIFY_PARAM_set1_host)                                                             \
	X(X509_VERIFY_PARAM_set1_ip_asc)                                                           \
	X(X509_VERIFY_PARAM_set_hostflags)                                                         \
	X(X509_verify_cert_error_string)

struct tls_library {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a member's name has none */
#define TLS_LIBRARY_MEMBER(name) __typeof__(&(name)) name;
	TLS_LIBRARY_FUNCTIONS(TLS_LIBRARY_MEMBER)
#undef TLS_LIBRARY_MEMBER
};

/* Loads it, the first time; it stays until the process ends. NULL and why (is_system). */
const struct tls_library *
tls_library_load(struct problem *why);

#endif
