/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "net/tls_explain.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define ALERT_BASE 1000 /* OpenSSL's reason for the alert N of the other side is this + N */
#define ALERT_HANDSHAKE_FAILURE 40
#define ALERT_PROTOCOL_VERSION 70
#define ALERT_UNRECOGNIZED_NAME 112

/* Alerts that refuse our certificate, or the want of one: RFC 8446, section 6. */
static const struct {
	int number;
	const char *name;
} refusals[] = {
    {42, "bad certificate"},
    {43, "unsupported certificate"},
    {44, "certificate revoked"},
    {45, "certificate expired"},
    {46, "certificate unknown"},
    {48, "unknown ca"},
    {49, "access denied"},
    {116, "certificate required"},
};

/* Read by what 1.1 and 3 have in common: the reason is in the lowest 12 bits. (In which bits the
 * library is they do not agree.) */
static int
reason_of(unsigned long error)
{
	return (int)(error & 0xfff);
}

static bool
is_of_tls(const struct tls *tls, unsigned long error)
{
	const char *library = tls->lib->ERR_lib_error_string(error);
	return library != NULL && strcmp(library, "SSL routines") == 0;
}

static const char *
text_of(const struct tls *tls, unsigned long error)
{
	const char *text = tls->lib->ERR_reason_error_string(error);
	return text != NULL ? text : "no reason is given";
}

/* OpenSSL opens the files of a directory of CAs when it wants one, and says of one that it cannot
 * open what it says of one that is not there. 0, or why none can be opened. */
static int
error_of_opening(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EMFILE || errno == ENFILE ? errno : 0;
	close(fd);
	return 0;
}

static void
explain_verification(const struct tls *tls, struct problem *why)
{
	long result = tls->lib->SSL_get_verify_result(tls->ssl);
	const char *text = tls->lib->X509_verify_cert_error_string(result);
	int error;
	switch (result) {
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		problem_set(why, "the server's certificate is not for '%s'", tls->name);
		break;
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
		error = error_of_opening();
		if (error != 0) {
			problem_set_errno(why, "cannot look for the CA of the server's certificate",
			    error);
			return;
		}
		problem_set(why,
		    "the server's certificate is not trusted: %s (--cacert FILE names the CA to trust)",
		    text);
		break;
	default:
		problem_set(why, "the server's certificate is not accepted: %s", text);
	}
	why->is_denied = true;
}

static void
explain_alert(const struct tls *tls, int number, unsigned long error, struct problem *why)
{
	bool has_certificate = tls->settings->cert[0] != '\0';
	const char *name = NULL;
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		if (refusals[i].number == number)
			name = refusals[i].name;
	}
	/* How TLS 1.2 refuses a certificate, or the want of one, if it was asked for. */
	if (number == ALERT_HANDSHAKE_FAILURE && (tls->was_asked || has_certificate))
		name = "handshake failure";
	if (name != NULL && has_certificate) {
		problem_set(why, "the server refuses our certificate (--cert): %s", name);
	} else if (name != NULL) {
		problem_set(why, "the server refuses us: %s (give a certificate: --cert, --key)",
		    name);
	} else {
		problem_set(why, "the server ends TLS: %s", text_of(tls, error));
	}
	why->is_denied = name != NULL;
}

enum transfer
tls_explain(const struct tls *tls, struct problem *why)
{
	unsigned long error = tls->lib->ERR_get_error();
	int reason = is_of_tls(tls, error) ? reason_of(error) : 0;
	switch (reason) {
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING /* 1.1 says that a call failed, with errno 0 */
	case SSL_R_UNEXPECTED_EOF_WHILE_READING:
		return TRANSFER_CLOSED;
#endif
	case SSL_R_CERTIFICATE_VERIFY_FAILED:
		explain_verification(tls, why);
		break;
	case SSL_R_WRONG_VERSION_NUMBER:
	case SSL_R_HTTP_REQUEST:
	case SSL_R_PACKET_LENGTH_TOO_LONG:
		problem_set(why,
		    "the server does not speak TLS on this port (rediss:// and --tls are for one that "
		    "does)");
		break;
	case SSL_R_UNSUPPORTED_PROTOCOL:
	case ALERT_BASE + ALERT_PROTOCOL_VERSION:
		problem_set(why, "the server has no TLS 1.2 or newer: %s", text_of(tls, error));
		break;
	case ALERT_BASE + ALERT_UNRECOGNIZED_NAME:
		problem_set(why,
		    "the server has no certificate for '%s' (--sni asks for another name)",
		    tls->name);
		break;
	default:
		if (reason >= ALERT_BASE)
			explain_alert(tls, reason - ALERT_BASE, error, why);
		else
			problem_set(why, "TLS has failed: %s", text_of(tls, error));
	}
	return TRANSFER_FAILED;
}

void
tls_explain_file(const struct tls *tls, const char *option, const char *path, struct problem *why)
{
	unsigned long error = tls->lib->ERR_get_error();
	const char *text = text_of(tls, error);
	bool is_key = strcmp(option, "key") == 0;
	/* What is no key is "unsupported" to OpenSSL 3. */
	if (strstr(text, "no start line") != NULL || strstr(text, "no certificate") != NULL ||
	    (is_key && strcmp(text, "unsupported") == 0))
		text = is_key ? "no private key in it, in PEM" : "no certificate in it, in PEM";
	else if (strstr(text, "bad password") != NULL || strstr(text, "interrupted") != NULL)
		text = "it is encrypted: dlock asks for no passphrase";
	else if (strstr(text, "key values mismatch") != NULL)
		text = "it is not the key of the certificate in --cert";
	problem_set(why, "--%s '%.200s': %s", option, path, text);
	why->is_setting = true;
}

struct tls *
tls_of(const SSL *ssl)
{
	struct problem unused;
	const struct tls_library *lib = tls_library_load(&unused);
	return lib != NULL ? lib->SSL_get_ex_data(ssl, 0) : NULL;
}
