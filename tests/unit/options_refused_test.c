/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* cli/options: command lines that are refused with 64, each with a sentence that helps. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"
#include "tap.h"

#define WORDS 24

static const struct {
	const char *line, *why;
} rows[] = {
    /* Values. */
    {"-E 600 job true", "from 0 to 255"}, /* P33: flock made 88 of it */
    {"-E -1 job true", "from 0 to 255"},
    {"-E '' job true", "from 0 to 255"},
    {"-w -1 job true", "not a duration"},
    {"-w 1e3 job true", "not a duration"},
    {"-w '' job true", "not a duration"},
    {"-t 999ms job true", "from 1s to 30d"},
    {"-t 31d job true", "from 1s to 30d"},
    {"-t 30 -t x job true", "--ttl: not a duration"},
    {"-k -1 job true", "--kill-after: not a duration"},
    {"--signal NONE job true", "not a signal"},
    {"--on-lost explode job true", "neither 'kill' nor 'signal'"},
    {"--on-lost k job true", "neither 'kill' nor 'signal'"},
    {"--fence clocks job true", "neither 'clock' nor 'counter'"},
    {"--min-fence 9007199254740992 job true", "9007199254740992"},
    {"--min-fence -1 job true", "not a number"},
    {"--at-least 31d job true", "longer than 30d"},
    {"--connect-timeout 0 job true", "at least 1ms"},
    {"-S nonsense job true", "no scheme"},
    {"-S http://db1 job true", "redis://, unix://"},
    {"-S redis://db1?x=1 job true", "unknown key"},
    {"-S '' job true", "no scheme"},
    /* Operands. */
    {"", "no NAME and no COMMAND"},
    {"-n", "no NAME and no COMMAND"},
    {"--", "no NAME and no COMMAND"},
    {"job", "no COMMAND after NAME 'job'"},
    {"job --", "no COMMAND after NAME and --"},
    {"9", "descriptor"},
    {"-n 200", "descriptor"},
    {"job -c", "exactly one string"},
    {"job -c a b", "exactly one string"},
    {"-c x job", "-c comes after NAME"},
    {"--command x job", "-c comes after NAME"},
    /* What flock has and dlock cannot. */
    {"-u job", "-u is flock's"},
    {"--unlock job", "-u is flock's"},
    {"-F job true", "-F is flock's"},
    {"--no-fork job true", "-F is flock's"},
    {"-nF job true", "-F is flock's"},
    /* What stands after NAME is COMMAND, and none begins so. */
    {"job -n true", "'-n' after NAME: options go before NAME"},
    {"job --ttl 3s true", "'--ttl' after NAME: options go before NAME"},
    {"job --ttl=hush true", "'--ttl' after NAME"},
    {"job -S redis://ann:hush@db1 true", "'-S' after NAME"},
    {"job -Sredis://ann:hush@db1 true", "after NAME"},
    {"job -cx", "an argument of its own: dlock NAME -c STRING"},
    {"job --command=x", "an argument of its own: dlock NAME -c STRING"},
    {"job -- -c x", "leave out the --"},
    {"job -- --command x", "leave out the --"},
    /* What comes with later versions is no option yet, and is not taken for another. */
    {"-s job true", "-s (--shared) is not in this version"},
    {"-ns job true", "-s (--shared) is not in this version"},
    {"--shared job true", "--shared is not in this version"},
    {"--slots 3 job true", "--slots is not in this version"},
    {"--slots=3 job true", "--slots is not in this version"},
    {"--max-waiters 3 job true", "--max-waiters is not in this version"},
    {"--status job", "--status is not in this version"},
    {"--list", "--list is not in this version"},
    {"--break job", "--break is not in this version"},
    {"--check", "--check is not in this version"},
    {"--tls job true", "--tls is not in this version"},
    {"--cacert x job true", "--cacert is not in this version"},
    {"--cacertdir x job true", "--cacertdir is not in this version"},
    {"--cert x job true", "--cert is not in this version"},
    {"--key x job true", "--key is not in this version"},
    {"--sni x job true", "--sni is not in this version"},
    {"--insecure job true", "--insecure is not in this version"},
    {"--watch job true", "--watch is not in this version"},
    {"--wait-replicas 1 job true", "--wait-replicas is not in this version"},
    {"--quarantine 1 job true", "--quarantine is not in this version"},
    {"--json --status job", "--json is not in this version"},
    {"--force --break job", "--force is not in this version"},
    {"--token=hush --break job", "--token is not in this version"},
    /* Spelling. */
    {"-z job true", "unknown option '-z'"},
    {"-nz job true", "unknown option '-z'"},
    {"--nonsense job true", "unknown option '--nonsense' (dlock --help lists them)"},
    {"--nonsense=hush job true", "'--nonsense'"},
    {"--passport=hush job true", "'--passport'"},
    {"--nonblok job true", "did you mean --nonblock?"},
    {"--no-block job true", "did you mean --nonblock?"},
    {"--killafter 3 job true", "did you mean --kill-after?"},
    {"--wiat=hush job true", "'--wiat': did you mean --wait?"},
    {"--Quiet job true", "did you mean --quiet?"},
    {"--nonblock=3 job true", "--nonblock takes no value"},
    {"--nb=3 job true", "--nonblock takes no value"},
    {"--nonb=hush job true", "--nonblock takes no value"},
    {"--help=hush", "--help takes no value"},
    {"--redis://ann:hush@db1 job true", "unknown option '--redis' "},
    {"--con 3 job true", "ambiguous option '--con'"},
    {"--con 3 job true", "--conflict-exit-code, --connect-timeout, --config"},
    {"--=3 job true", "unknown option '--'"},
    {"---n job true", "unknown option '---n'"},
    /* A URL in the wrong place. */
    {"-t redis://ann:hush@db1 job true", "--ttl: not a duration: 'redis://ann:****@db1'"},
    {"-w redis://ann:hush@db1 job true", "--wait: not a duration"},
    {"-E redis://ann:hush@db1 job true", "--conflict-exit-code"},
    {"--signal redis://ann:hush@db1 job true", "--signal: not a signal"},
    {"-S redis://db1 -S redis://db2 job true", "a quorum"},
    {"-S redis://db1_redis://db2 job true", "a quorum"},
    {"-S redis://db1_ job true", "a blank in the server URL: write %20"},
    {"--config '' job true", "--config: no file named"},
    {"-w", "--wait needs an argument: DUR"},
    {"--wait", "--wait needs an argument: DUR"},
    {"-n -S", "--server needs an argument: URL"},
    {"--on-lost", "--on-lost needs an argument"},
};

int
main(void)
{
	static char words[WORDS][512];
	static char *argv[WORDS + 1];
	setenv("DLOCK_SERVER", "redis://db1", 1);
	setenv("DLOCK_CONFIG", "/dev/null", 1); /* this machine may have a file */
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		static struct options options;
		struct problem problem = {.text = ""};
		int argc = 0;
		argv[argc++] = strcpy(words[0], "dlock");
		for (const char *at = rows[i].line; *at != '\0' && argc < WORDS;) {
			size_t length = strcspn(at, " ");
			snprintf(words[argc], sizeof words[argc], "%.*s", (int)length, at);
			if (strcmp(words[argc], "''") == 0)
				words[argc][0] = '\0';
			for (char *byte = words[argc]; *byte != '\0'; byte++) {
				if (*byte == '_')
					*byte = ' ';
			}
			argv[argc] = words[argc];
			argc++;
			at += length + (at[length] == ' ');
		}
		argv[argc] = NULL;
		optind = 0; /* begins anew (glibc), with the order that options_parse wants */
		(void)getopt(1, argv, "+");
		tap_case("refused: dlock %s", rows[i].line);
		CHECK_INT(options_parse(&options, argc, argv, &problem), OPTIONS_USAGE_ERROR);
		CHECK_HAS(problem.text, rows[i].why);
		CHECK_HAS_NOT(problem.text, "hush");
	}
	return tap_end();
}
