/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "net/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/tls_explain.h"

/* A file that is there and can be read: OpenSSL would say so in other words, and wait for the
 * writer of a FIFO. */
static bool
check_file(const char *option, const char *path, bool is_directory, struct problem *why)
{
	struct stat status;
	struct problem reason;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) != 0) {
		problem_set_errno(&reason, NULL, errno);
		problem_set(why, "--%s '%.200s': %s", option, path, reason.text);
		why->is_system = reason.is_system;
		why->is_setting = !reason.is_system;
	}
	bool good =
	    fd >= 0 && (is_directory ? S_ISDIR(status.st_mode) : S_ISREG(status.st_mode)) != 0;
	if (fd >= 0 && !good) {
		problem_set(why, "--%s '%.200s': not a %s", option, path,
		    is_directory ? "directory" : "file");
		why->is_setting = true;
	}
	if (fd >= 0)
		close(fd);
	return good;
}

static bool
check_files(const struct tls_settings *settings, struct problem *why)
{
	return (settings->cacert[0] == '\0' ||
		   check_file("cacert", settings->cacert, false, why)) &&
	    (settings->cacertdir[0] == '\0' ||
		check_file("cacertdir", settings->cacertdir, true, why)) &&
	    (settings->cert[0] == '\0' || check_file("cert", settings->cert, false, why)) &&
	    (settings->key[0] == '\0' || check_file("key", settings->key, false, why));
}

/* OpenSSL's own would ask at the terminal. */
static int
refuse_passphrase(char *buffer, int size, int writing, void *context)
{
	(void)buffer, (void)size, (void)writing, (void)context;
	return -1;
}

/* Called when the server asks for a certificate and we have none. */
static int
note_request(SSL *ssl, X509 **certificate, EVP_PKEY **key)
{
	struct tls *tls = tls_of(ssl);
	(void)certificate, (void)key;
	if (tls != NULL)
		tls->was_asked = true;
	return 0;
}

static bool
trust(struct tls *tls, struct problem *why)
{
	const struct tls_settings *settings = tls->settings;
	const char *file = settings->cacert[0] != '\0' ? settings->cacert : NULL;
	const char *directory = settings->cacertdir[0] != '\0' ? settings->cacertdir : NULL;
	if (settings->insecure)
		return true;
	tls->lib->SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
	if (file == NULL && directory == NULL) {
		tls->lib->SSL_CTX_set_default_verify_paths(tls->context);
		return true;
	}
	if (tls->lib->SSL_CTX_load_verify_locations(tls->context, file, directory) == 1)
		return true;
	tls_explain_file(tls, file ? "cacert" : "cacertdir", file ? file : directory, why);
	return false;
}

static bool
read_own_certificate(struct tls *tls, struct problem *why)
{
	const struct tls_settings *settings = tls->settings;
	if (settings->cert[0] == '\0')
		return true;
	if (tls->lib->SSL_CTX_use_certificate_chain_file(tls->context, settings->cert) != 1) {
		tls_explain_file(tls, "cert", settings->cert, why);
		return false;
	}
	if (tls->lib->SSL_CTX_use_PrivateKey_file(tls->context, settings->key, SSL_FILETYPE_PEM) !=
		1 ||
	    tls->lib->SSL_CTX_check_private_key(tls->context) != 1) {
		tls_explain_file(tls, "key", settings->key, why);
		return false;
	}
	return true;
}

static bool
make_context(struct tls *tls, struct problem *why)
{
	const struct tls_library *lib = tls->lib;
	lib->ERR_clear_error();
	tls->context = lib->SSL_CTX_new(lib->TLS_client_method());
	if (tls->context == NULL) {
		problem_set_errno(why, "cannot set up TLS", ENOMEM);
		return false;
	}
	lib->SSL_CTX_ctrl(tls->context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
	/* What is to be sent may have grown, or lie elsewhere, when a write is tried again. Buffers
	 * are given back while nothing goes on, which is nearly always. */
	lib->SSL_CTX_ctrl(tls->context, SSL_CTRL_MODE,
	    SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
		SSL_MODE_AUTO_RETRY | SSL_MODE_RELEASE_BUFFERS,
	    NULL);
	lib->SSL_CTX_set_default_passwd_cb(tls->context, refuse_passphrase);
	lib->SSL_CTX_set_client_cert_cb(tls->context, note_request);
	return trust(tls, why) && read_own_certificate(tls, why);
}

/* A host without what only look-ups understand: the scope of an address, the dot at a name's end.
 */
static void
take_name(struct tls *tls, const char *host)
{
	struct in6_addr unused;
	const char *name = tls->settings->sni[0] != '\0' ? tls->settings->sni : host;
	size_t length = strchr(name, ':') != NULL ? strcspn(name, "%") : strlen(name);
	if (length > 1 && name[length - 1] == '.')
		length--;
	if (length >= sizeof tls->name)
		length = sizeof tls->name - 1;
	memcpy(tls->name, name, length);
	tls->name[length] = '\0';
	tls->is_address = inet_pton(AF_INET, tls->name, &unused) == 1 ||
	    inet_pton(AF_INET6, tls->name, &unused) == 1;
}

struct tls *
tls_new(const struct tls_settings *settings, const char *host, struct problem *why)
{
	const struct tls_library *lib = tls_library_load(why);
	if (lib == NULL || !check_files(settings, why))
		return NULL;
	struct tls *tls = calloc(1, sizeof *tls);
	if (tls == NULL) {
		problem_set_errno(why, NULL, ENOMEM);
		return NULL;
	}
	tls->lib = lib;
	tls->settings = settings;
	take_name(tls, host);
	if (!make_context(tls, why)) {
		tls_free(tls);
		return NULL;
	}
	return tls;
}

/* Whom we expect there. An address is in no SNI (RFC 6066, section 3). */
static bool
expect_name(struct tls *tls)
{
	const struct tls_library *lib = tls->lib;
	X509_VERIFY_PARAM *expected = lib->SSL_get0_param(tls->ssl);
	union {
		const char *given;
		void *wanted; /* it only reads */
	} name = {.given = tls->name};
	if (!tls->is_address &&
	    lib->SSL_ctrl(tls->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
		name.wanted) != 1)
		return false;
	if (tls->settings->insecure)
		return true;
	if (tls->is_address)
		return lib->X509_VERIFY_PARAM_set1_ip_asc(expected, tls->name) == 1;
	lib->X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return lib->X509_VERIFY_PARAM_set1_host(expected, tls->name, 0) == 1;
}

bool
tls_begin(struct tls *tls, int fd, struct problem *why)
{
	const struct tls_library *lib = tls->lib;
	lib->SSL_free(tls->ssl);
	lib->ERR_clear_error();
	tls->was_asked = false;
	tls->broken = TRANSFER_DONE;
	tls->ssl = lib->SSL_new(tls->context);
	if (tls->ssl != NULL && lib->SSL_set_ex_data(tls->ssl, 0, tls) == 1 &&
	    lib->SSL_set_fd(tls->ssl, fd) == 1 && expect_name(tls))
		return true;
	problem_set_errno(why, "cannot set up TLS", ENOMEM);
	return false;
}

/* -- steps ------------------------------------------------------------------------------------ */

/* What a call of OpenSSL that has not succeeded means. */
static enum transfer
judge(struct tls *tls, int status, struct problem *why)
{
	int error = errno; /* 0: the socket's end, where OpenSSL says that a call failed */
	switch (tls->lib->SSL_get_error(tls->ssl, status)) {
	case SSL_ERROR_WANT_READ:
		return TRANSFER_WANTS_READ;
	case SSL_ERROR_WANT_WRITE:
		return TRANSFER_WANTS_WRITE;
	case SSL_ERROR_ZERO_RETURN:
		tls->broken = TRANSFER_CLOSED;
		break;
	case SSL_ERROR_SYSCALL:
		tls->broken = error == 0 ? TRANSFER_CLOSED : TRANSFER_FAILED;
		problem_set_errno(&tls->problem, NULL, error);
		break;
	default:
		tls->broken = tls_explain(tls, &tls->problem);
	}
	*why = tls->problem;
	return tls->broken;
}

/* Who refuses us in TLS 1.3 says so and hangs up, and a write may notice the latter first. What was
 * said is there to be read. */
static void
look_for_alert(struct tls *tls)
{
	char bytes[256];
	int status;
	do {
		tls->lib->ERR_clear_error();
		status = tls->lib->SSL_read(tls->ssl, bytes, sizeof bytes);
	} while (status > 0);
	if (tls->lib->SSL_get_error(tls->ssl, status) == SSL_ERROR_SSL) {
		struct problem alert;
		if (tls_explain(tls, &alert) == TRANSFER_FAILED)
			tls->problem = alert;
	}
	explicit_bzero(bytes, sizeof bytes);
}

/* Nothing is tried on what has failed: OpenSSL would give another reason. True: it has. */
static bool
is_broken(const struct tls *tls, struct problem *why)
{
	tls->lib->ERR_clear_error();
	errno = 0;
	if (tls->broken == TRANSFER_DONE)
		return false;
	*why = tls->problem;
	return true;
}

enum transfer
tls_handshake(struct tls *tls, struct problem *why)
{
	if (is_broken(tls, why))
		return tls->broken;
	int status = tls->lib->SSL_connect(tls->ssl);
	if (status == 1)
		return TRANSFER_DONE;
	/* Who closes with our first words unread resets the connection: it is the same to us. */
	bool is_reset = errno == ECONNRESET || errno == EPIPE;
	if (tls->lib->SSL_get_error(tls->ssl, status) == SSL_ERROR_SYSCALL && is_reset)
		errno = 0;
	return judge(tls, status, why);
}

static int
as_int(size_t size)
{
	return size < 16384 ? (int)size : 16384; /* a record's size */
}

enum transfer
tls_read(struct tls *tls, char *bytes, size_t size, size_t *got, struct problem *why)
{
	if (is_broken(tls, why))
		return tls->broken;
	int status = tls->lib->SSL_read(tls->ssl, bytes, as_int(size));
	if (status <= 0)
		return judge(tls, status, why);
	*got = (size_t)status;
	return TRANSFER_DONE;
}

enum transfer
tls_write(struct tls *tls, const char *bytes, size_t length, size_t *sent, struct problem *why)
{
	if (is_broken(tls, why))
		return tls->broken;
	int status = tls->lib->SSL_write(tls->ssl, bytes, as_int(length));
	if (status <= 0) {
		enum transfer result = judge(tls, status, why);
		if (result == TRANSFER_FAILED)
			look_for_alert(tls);
		*why = tls->problem;
		return result;
	}
	*sent = (size_t)status;
	return TRANSFER_DONE;
}

bool
tls_has_pending(const struct tls *tls)
{
	return tls->ssl != NULL && tls->lib->SSL_pending(tls->ssl) > 0;
}

bool
tls_has_unread(struct tls *tls)
{
	char byte;
	struct problem kept;
	if (tls->ssl == NULL || is_broken(tls, &kept))
		return false;
	int status = tls->lib->SSL_peek(tls->ssl, &byte, 1);
	if (status > 0)
		return true;
	judge(tls, status, &kept);
	return false;
}

bool
tls_has_heard(const struct tls *tls)
{
	return tls->ssl != NULL && tls->lib->BIO_number_read(tls->lib->SSL_get_rbio(tls->ssl)) > 0;
}

void
tls_free(struct tls *tls)
{
	if (tls == NULL)
		return;
	tls->lib->SSL_free(tls->ssl);
	tls->lib->SSL_CTX_free(tls->context);
	free(tls);
}
