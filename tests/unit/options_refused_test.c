/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* cli/options: command lines that are refused with 64, each with a sentence that helps. */
#include <stdlib.h>

#include "lines.h"
#include "tap.h"

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
    {"-S http://db1 job true", "redis://, rediss://, unix://"},
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
    {"--wait-replicas x -S redis://db1 job true",
	"not a number of replicas: 'x' (0 to 1000, or auto)"},
    {"--wait-replicas -1 -S redis://db1 job true", "not a number of replicas: '-1'"},
    {"--wait-replicas 1001 -S redis://db1 job true", "not a number of replicas: '1001'"},
    {"--wait-replicas auto -S redis://db1 job true", "auto is for redis+sentinel://"},
    /* TLS. */
    {"--cacert x job true", "--cacert is for TLS, and the server URL names one in clear"},
    {"--insecure job true", "--insecure is for TLS"},
    {"-S redis://db1?sni=x job true", "--sni is for TLS"},
    {"--tls -S unix:///s job true", "--tls does not go with unix://"},
    {"--tls --cert x job true", "--cert and --key go together"},
    {"--tls --sni 10.0.0.1 job true", "--sni is a name, not an address"},
    {"--tls=yes job true", "--tls takes no value"},
    /* Who may have the lock. */
    {"--slots 0 job true", "--slots: not a number from 1 to 1000: '0'"},
    {"--slots 1001 job true", "--slots: not a number from 1 to 1000: '1001'"},
    {"--slots job true", "--slots: not a number from 1 to 1000: 'job'"},
    {"--shared=3 job true", "--shared takes no value"},
    {"-s --slots 3 job true", "-s and --slots exclude each other"},
    {"--slots 3 -ns job true", "-s and --slots exclude each other"},
    {"--max-waiters -1 job true", "--max-waiters: not a number from 0 to 1000000: '-1'"},
    {"--max-waiters 1000001 job true", "--max-waiters: not a number from 0"},
    {"--slots", "--slots needs an argument: N"},
    {"--watch=yes job true", "--watch takes no value"},
    /* Several servers. */
    {"--slots 2 -S redis://db1 -S redis://db2 job true",
	"--slots does not go with several servers: slots of several servers do not compose"}, /* P90
											       */
    {"-s -S redis://db1 -S redis://db2 job true", "--shared does not go with several servers: "},
    {"--fence counter -S redis://db1 -S redis://db2 job true",
	"--fence does not go with several servers: counters of several servers differ"},
    {"--watch -S redis://db1 -S redis://db2 job true",
	"--watch does not go with several servers: "},
    {"--wait-replicas 1 -S redis://db1 -S redis://db2 job true",
	"--wait-replicas does not go with several servers: "},
    {"-S redis://db1 -S redis+sentinel://s1/main job true",
	"redis+sentinel://s1:26379/main is no member of a quorum"},
    {"-S redis://db1 -S redis+cluster://c1,c2 -S redis://db3 job true",
	"redis+cluster://c1:6379,c2:6379 is no member of a quorum"},
    {"--max-waiters 3 -S redis://db1 -S redis://db2 job true",
	"--max-waiters does not go with several servers: "},
    {"-S redis://db1:7000 -S redis://DB1:7000/2 job true", "redis://DB1:7000/2 is named twice"},
    {"-S unix:///s -S redis://db1 -S unix:///s?db=1 job true", "unix:///s?db=1 is named twice"},
    {"-S redis://db1 -S localhost job true", "server 2: no scheme"},
    {"--quarantine 1 job true", "--quarantine goes with several servers"},
    {"--quarantine x -S redis://db1 -S redis://db2 job true", "--quarantine: not a duration: 'x'"},
    /* Reports, and what they take. */
    {"--status", "--status needs a NAME: dlock --status NAME..."},
    {"--status --json", "--status needs a NAME"},
    {"--status job --json", "'--json' after NAME: options go before it"},
    {"--status job -- x", "'--' after NAME"},
    {"--list a b", "--list takes one GLOB at most"},
    {"--break", "--break needs a NAME: dlock --break NAME"},
    {"--break a b", "--break takes one NAME, and no COMMAND"},
    {"--held a b", "--held takes one NAME at most"},
    {"--status=job", "--status takes no value"},
    {"--status --list job",
	"--list: it does not go with --status: one of them at a time, dlock --status NAME... or dlock --list [GLOB]"},
    {"status", "no COMMAND after NAME 'status': did you mean dlock --status NAME...?"},
    {"list", "no COMMAND after NAME 'list': did you mean dlock --list [GLOB]?"},
    {"stat", "no COMMAND after NAME 'stat': dlock [OPTION]... NAME COMMAND"},
    {"--list --break job", "--break: it does not go with --list"},
    {"--held --status job", "--status: it does not go with --held"},
    {"--break --held job", "--held: it does not go with --break"},
    {"-n --status job",
	"-n does not go with --status: that takes the options of the server, --prefix"},
    {"--nb --status job", "--nonblock does not go with --status"},
    {"--status -w 3 job", "-w does not go with --status"},
    {"--status --wait 3 job", "--wait does not go with --status"},
    {"--list -s", "-s does not go with --list"},
    {"--list --slots 3", "--slots does not go with --list"},
    {"--break -e job", "-e does not go with --break"},
    {"--status --max-waiters 3 job", "--max-waiters does not go with --status"},
    {"--break --watch job", "--watch does not go with --break"},
    {"--status --at-least 3 job", "--at-least does not go with --status"},
    {"--status -t 3 job", "-t does not go with --status"},
    {"--list --report x", "--report does not go with --list"},
    {"--json job true",
	"--json goes with --status, --list, --break and --check: dlock --status --json NAME"},
    {"--json --held job", "--json goes with --status"},
    {"--force job true", "--force goes with --break: dlock --break --force NAME"},
    {"--force --status job", "--force goes with --break"},
    {"--token=hush job true", "--token goes with --break: dlock --break --token T NAME"},
    {"--token=hush --list", "--token goes with --break"},
    {"--token= --break job", "--token: an empty token"},
    {"--token", "--token needs an argument: T"},
    {"--break --token job", "--break needs a NAME"},
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
	lines_clear_environment();
	setenv("DLOCK_SERVER", "redis://db1", 1);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		static struct options options;
		struct problem problem;
		tap_case("refused: dlock %s", rows[i].line);
		CHECK_INT(lines_parse(rows[i].line, &options, &problem, NULL), OPTIONS_USAGE_ERROR);
		CHECK_HAS(problem.text, rows[i].why);
		CHECK_HAS_NOT(problem.text, "hush");
	}
	return tap_end();
}
