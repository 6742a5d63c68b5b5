/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/identity.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "base/values.h"

void
identity_make_token(char token[TOKEN_SIZE])
{
	uuid_t uuid;
	uuid_generate_random(uuid);
	uuid_unparse_lower(uuid, token);
}

/* The first line of a small file, without its newline; empty when it cannot be read. */
static void
read_line(const char *path, char *out, size_t size)
{
	out[0] = '\0';
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	ssize_t got = read(fd, out, size - 1);
	close(fd);
	out[got > 0 ? got : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

/* Field 22 of /proc/PID/stat; the second field may hold anything, so count from its last ')'. */
static int64_t
own_start_time(void)
{
	char line[1024];
	read_line("/proc/self/stat", line, sizeof line);
	char *field = strrchr(line, ')');
	for (int i = 2; field != NULL && i < 22; i++)
		field = strchr(field + 1, ' ');
	return field == NULL ? 0 : strtoll(field + 1, NULL, 10);
}

/* /etc/passwd alone: getpwuid(3) may ask a directory service, and hang with it. */
static void
own_user(char *out, size_t size)
{
	uid_t uid = geteuid();
	snprintf(out, size, "uid-%ju", (uintmax_t)uid);
	FILE *passwd = fopen("/etc/passwd", "re");
	if (passwd == NULL)
		return;
	for (struct passwd *entry; (entry = fgetpwent(passwd)) != NULL;) {
		if (entry->pw_uid == uid) {
			snprintf(out, size, "%s", entry->pw_name);
			break;
		}
	}
	fclose(passwd);
}

void
identity_gather(struct identity *identity, const char *command, const char *label)
{
	memset(identity, 0, sizeof *identity);
	if (gethostname(identity->host, sizeof identity->host - 1) != 0)
		identity->host[0] = '\0';
	read_line("/proc/sys/kernel/random/boot_id", identity->boot_id, sizeof identity->boot_id);
	identity->pid = getpid();
	identity->started = own_start_time();
	own_user(identity->user, sizeof identity->user);
	const char *slash = strrchr(command, '/');
	snprintf(identity->command, sizeof identity->command, "%s", slash ? slash + 1 : command);
	snprintf(identity->label, sizeof identity->label, "%s", label);
}

static void
put_field(char record[IDENTITY_RECORD], size_t *used, const char *name, const char *value)
{
	size_t start = *used;
	int head = snprintf(record + start, IDENTITY_RECORD - start, "%s=", name);
	size_t at = start + (size_t)head;
	for (; *value != '\0' && at + 5 < IDENTITY_RECORD; value++) {
		unsigned char byte = (unsigned char)*value;
		if (byte < 0x20 || byte == '%' || byte == 0x7f)
			at += (size_t)snprintf(record + at, 4, "%%%02x", byte);
		else
			record[at++] = *value;
	}
	if (at + 2 >= IDENTITY_RECORD || *value != '\0') {
		record[start] = '\0'; /* a field that does not fit is left out whole */
		return;
	}
	record[at++] = '\n';
	record[at] = '\0';
	*used = at;
}

static void
put_number(char record[IDENTITY_RECORD], size_t *used, const char *name, int64_t value)
{
	char digits[24];
	snprintf(digits, sizeof digits, "%" PRId64, value);
	put_field(record, used, name, digits);
}

void
identity_write(const struct identity *identity, char record[IDENTITY_RECORD])
{
	size_t used = 0;
	record[0] = '\0';
	put_field(record, &used, "host", identity->host);
	put_field(record, &used, "boot", identity->boot_id);
	put_number(record, &used, "pid", identity->pid);
	put_number(record, &used, "started", identity->started);
	put_field(record, &used, "user", identity->user);
	put_field(record, &used, "command", identity->command);
	put_field(record, &used, "mode", identity->mode);
	if (identity->label[0] != '\0')
		put_field(record, &used, "label", identity->label);
}

/* Undoes put_field's escapes into `out`; what is too long is cut. */
static void
decode(char *out, size_t size, const char *value, size_t length)
{
	size_t used = 0;
	for (size_t i = 0; i < length && used + 1 < size; i++) {
		char byte = value[i];
		if (byte == '%' && i + 2 < length && value_hex_digit(value[i + 1]) >= 0 &&
		    value_hex_digit(value[i + 2]) >= 0) {
			byte = (char)(value_hex_digit(value[i + 1]) * 16 +
			    value_hex_digit(value[i + 2]));
			i += 2;
		}
		out[used++] = byte;
	}
	out[used] = '\0';
}

void
identity_read(struct identity *identity, const char *record, size_t length)
{
	memset(identity, 0, sizeof *identity);
	char number[24];
	const struct {
		const char *name;
		char *text;
		size_t size;
		int64_t *number;
	} fields[] = {
	    {"host", identity->host, sizeof identity->host, NULL},
	    {"boot", identity->boot_id, sizeof identity->boot_id, NULL},
	    {"pid", number, sizeof number, &identity->pid},
	    {"started", number, sizeof number, &identity->started},
	    {"user", identity->user, sizeof identity->user, NULL},
	    {"command", identity->command, sizeof identity->command, NULL},
	    {"label", identity->label, sizeof identity->label, NULL},
	    {"mode", identity->mode, sizeof identity->mode, NULL},
	    {"since", number, sizeof number, &identity->since_us},
	    {"fence", identity->fence, sizeof identity->fence, NULL},
	};
	const char *end = record + length;
	while (record < end) {
		const char *line_end = memchr(record, '\n', (size_t)(end - record));
		if (line_end == NULL)
			line_end = end;
		const char *equals = memchr(record, '=', (size_t)(line_end - record));
		for (size_t i = 0; equals != NULL && i < sizeof fields / sizeof *fields; i++) {
			size_t name_length = (size_t)(equals - record);
			if (strlen(fields[i].name) != name_length ||
			    memcmp(fields[i].name, record, name_length) != 0)
				continue;
			decode(fields[i].text, fields[i].size, equals + 1,
			    (size_t)(line_end - equals - 1));
			if (fields[i].number != NULL)
				*fields[i].number = strtoll(number, NULL, 10);
		}
		record = line_end + 1;
	}
}

void
identity_describe(const struct identity *identity, int64_t held_ns, char *out, size_t size)
{
	char held[32] = "";
	char pid[32] = "";
	char age[48] = "";
	if (identity->pid > 0)
		snprintf(pid, sizeof pid, " pid %" PRId64, identity->pid);
	if (held_ns >= 0)
		snprintf(age, sizeof age, ", for %s",
		    value_print_duration(held, sizeof held, held_ns));
	snprintf(out, size, "%s@%s%s %s%s%s%s", identity->user[0] ? identity->user : "?",
	    identity->host[0] ? identity->host : "?", pid,
	    identity->command[0] ? identity->command : "?", age,
	    identity->label[0] ? ", label " : "", identity->label);
}
