#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md sections 1 and 2: whatever is malformed on the command line (options, durations, numbers,
# names) gets one line that names it and says what would be right, the right status, and nothing is
# sent to a server. Servers, config files and the environment are in bad_settings.bats.

load helpers/common
load helpers/refusals

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() { refusals_setup; }
teardown() { refusals_teardown; }

@test "the proof of this file is one: a run that is right does connect" {
	refusals_prove
}

@test "durations" {
	local value
	for value in '' ' 1' '1 ' -1 +1 -0 1e3 1E3 inf nan infinity 0x10 1x 1,5 . s ms .s 1.5.5 1..5 1ss \
		'1 s' 1w 1y 1S 1M 1us 1min 1m30s 1_000 soon -- --help $'1\n' $'\e[31m1' $'\xff' '*' '$x'; do
		bad "--wait: not a duration: '.*' \\($DURATION\\)" --wait "$value" job touch ran
	done
	for value in 99999999999999999999 300000000d 9223372037; do
		bad "--wait: too long a duration: '$value' \\(at most 292 years\\)" -w "$value" job touch ran
	done
	bad "--wait: not a duration: 'x{64}' " -w "$(printf 'x%.0s' {1..5000})" job touch ran
}

@test "durations, of every option that takes one, in every place" {
	local option
	run options_with DUR
	assert_line wait
	assert_line at-least
	[ "${#lines[@]}" -ge 5 ]
	for option in "${lines[@]}"; do
		bad "--$option: not a duration: 'soon' \\($DURATION\\)" "--$option" soon job touch ran
		bad "--$option: not a duration: ''" "--$option=" job touch ran
		bad "--$option: not a duration: '-1'" "--$option" -1 job touch ran
		bad "--$option: too long a duration" "--$option" 999999999999d job touch ran
		bad "--$option needs an argument: DUR" "--$option"
		bad_line "$option: not a duration: 'soon' \\($DURATION\\)" "$option = soon"
		bad_line "$option: not a duration: ''" "$option ="
		bad_line "$option: it needs a value: $option = DUR" "$option"
		bad_line "$option: not a duration: 'yes'" "$option = yes"
	done
}

@test "durations that are none for what they are for" {
	local value
	for value in 0 0.5 999ms .999999999; do
		bad "--ttl: not a TTL from 1s to 30d: '$value' is too short" -t "$value" job touch ran
		bad_env "DLOCK_TTL in the environment: not a TTL from 1s to 30d" DLOCK_TTL="$value"
		bad_line "ttl: not a TTL from 1s to 30d" "ttl = $value"
	done
	for value in 31d 721h 2592000.000000001; do
		bad "--ttl: not a TTL from 1s to 30d: '$value' is longer" -t "$value" job touch ran
		bad_env "DLOCK_TTL in the environment: not a TTL from 1s to 30d" DLOCK_TTL="$value"
	done
	bad "--at-least: longer than 30d: '31d'" --at-least 31d job touch ran
	bad "--connect-timeout: too short a time: '0' \\(at least 1ms\\)" --connect-timeout 0 job touch ran
	bad 'a grace of 2.0s .* in a TTL of 3.0s: at most' -t 3s -k 2s job touch ran
	bad 'a grace of 25.0s .* in a TTL of 30.0s: at most' -k 25s job touch ran
}

@test "numbers (P33)" {
	local value
	for value in 600 256 -1 '' x 1x 1.5 +1 ' 1' '1 ' 0x10 1e2 99999999999999999999 18446744073709551617; do
		bad "--conflict-exit-code: not a number from 0 to 255: '.*'" -n -E "$value" job touch ran
	done
	bad "--min-fence: 9007199254740992 is too high: at most 9007199254740991" --min-fence 9007199254740992 job touch ran
	for value in -1 x '' 1.5 18446744073709551617; do
		bad "--min-fence: not a number from 0 to 9007199254740991: '$value'" --min-fence "$value" job touch ran
		bad_line "min-fence: not a number from 0 to 9007199254740991: '$value'" "min-fence = $value"
	done
	for value in 0 1001 -1 x '' 1.5 +3 99999999999999999999; do
		bad "--slots: not a number from 1 to 1000: '.*'" --slots "$value" job touch ran
		bad_line "slots: not a number from 1 to 1000: '.*'" "slots = $value"
	done
	for value in 1000001 -1 x '' 1.5 18446744073709551617; do
		bad "--max-waiters: not a number from 0 to 1000000: '$value'" --max-waiters "$value" job touch ran
		bad_line "max-waiters: not a number from 0 to 1000000: '$value'" "max-waiters = $value"
	done
	bad "--slots needs an argument: N" --slots
	bad_line 'slots: it needs a value: slots = N' 'slots'
	bad_line 'max-waiters: it needs a value: max-waiters = N' 'max-waiters'
	bad_line "conflict-exit-code: not a number from 0 to 255: '600'" 'conflict-exit-code = 600'
	bad "--conflict-exit-code needs an argument: N" -E
}

@test "choices and signals" {
	local value
	for value in ignore '' KILL kil 'kill,signal' k; do
		bad "--on-lost: neither 'kill' nor 'signal': '$value'" --on-lost "$value" job touch ran
		bad_line "on-lost: neither 'kill' nor 'signal': '$value'" "on-lost = $value"
	done
	for value in redis '' Clock clocks; do
		bad "--fence: neither 'clock' nor 'counter': '$value'" --fence "$value" job touch ran
	done
	for value in '' 0 65 999 -1 SIG NOSUCH RTMIN+99 RTMIN+ RTMAX+0 RTMAX-99 '15 ' 1.5; do
		bad "--signal: not a signal: '.*' \\(a name such as TERM or SIGINT, or a number from 1 to 64\\)" \
			--signal "$value" job touch ran
	done
	bad "--signal: not a signal: 'TREM' \\(did you mean TERM\\?\\)" --signal TREM job touch ran
	bad "--signal: not a signal: 'SIGUSR' \\(did you mean USR1\\?\\)" --signal SIGUSR job touch ran
	bad_line "signal: not a signal: 'HUPP' \\(did you mean HUP\\?\\)" 'signal = HUPP'
	bad "--label: a label has at most 255 bytes, not 256" --label "$(printf 'x%.0s' {1..256})" job touch ran
	bad_env "DLOCK_LABEL in the environment: a label has at most 255" DLOCK_LABEL="$(printf 'x%.0s' {1..256})"
}

@test "options: unknown, mistyped, ambiguous, with a value they do not take or without one they need" {
	bad "unknown option '--frobnicate' \\(dlock --help lists them\\)" --frobnicate job touch ran
	bad "unknown option '--frobnicate' " --frobnicate=hush job touch ran
	bad "unknown option '-Z' \\(dlock --help" -Z job touch ran
	bad "unknown option '-Z' " -nZ job touch ran
	bad "unknown option '-9' " -9 job touch ran
	bad 'unknown option' $'-\e' job touch ran
	bad 'unknown option' $'--\e[31m' job touch ran
	bad 'unknown option' $'-\xff' job touch ran
	bad 'unknown option' "--$(printf 'x%.0s' {1..5000})" job touch ran
	bad "unknown option '--nonblok': did you mean --nonblock\\?" --nonblok job touch ran
	bad "unknown option '--kill-aftr': did you mean --kill-after\\?" --kill-aftr=3s job touch ran
	bad "unknown option '--redis' " --redis://:hush@db1 job touch ran
	bad "ambiguous option '--con': one of --conflict-exit-code, .*--connect-timeout, .*--config" --con 3 job touch ran
	bad '--nonblock takes no value' --nonblock=3 job touch ran
	bad '--quiet takes no value' --quiet=yes job touch ran
	bad '--verbose takes no value' --verb=hush job touch ran
	bad '--ttl needs an argument: DUR' --ttl
	bad '--server needs an argument: URL' -nS
	bad '--config: no file named .*/dev/null' --config '' job touch ran
}

@test "options of redis-cli(1) are told where the server is named" {
	local option
	for option in -p --port --host --user; do
		bad "unknown option '$option': the server, its port and the user are those of -S redis://" "$option" 6379 job touch ran
	done
	for option in -a --pass --askpass; do
		bad "unknown option '$option': the password is that of --password-file" "$option" hush job touch ran
	done
	bad "-u is flock's: .*the server is named by -S" -u "$URL_TCP" job touch ran
}

@test "--wait-replicas, and --quarantine with one server" {
	bad "--wait-replicas: not a number of replicas: 'x' \\(0 to 1000, or auto\\)" --wait-replicas x job touch ran
	bad "--wait-replicas: not a number of replicas: '-1'" --wait-replicas=-1 job touch ran
	bad "--wait-replicas auto is for redis\\+sentinel://, .*give a number" --wait-replicas auto -S unix:///run/r job touch ran
	bad '--quarantine goes with several servers' --quarantine 1 job touch ran
}

@test "shared, slots and exclusive: what they do not take" {
	bad '--shared takes no value' --shared=3 job touch ran
	bad '--watch takes no value' --watch=yes job touch ran
	bad '-s and --slots exclude each other: --slots N alone lets N in at once' -s --slots 3 job touch ran
	bad '-s and --slots exclude each other' --slots 3 -ns job touch ran
	bad '-s and --slots exclude each other' --slots 3 -s -x job touch ran
	bad "unknown option '--slot3'.*did you mean --slots\\?" --slot3 job touch ran
	bad_line "shared: neither 'yes' nor 'no'" 'shared = 3'
	bad_line "watch: neither 'yes' nor 'no'" 'watch = maybe'
	printf 'shared\nslots = 3\n' >conf
	judge 78 'conf:2: slots: shared in line 1 sets the same' "$DLOCK" --config conf job touch ran
	printf 'slots = 3\nexclusive\n' >conf
	judge 78 'conf:2: exclusive: slots in line 1 sets the same' "$DLOCK" --config conf job touch ran
}

@test "slots on several servers do not compose (P90)" {
	bad '--slots does not go with several servers' --slots 2 -S "$URL_TCP" -S "$URL_UNIX" job touch ran
	bad '--slots does not go with several servers' --slots 2 -S "$URL_TCP $URL_UNIX" job touch ran
	judge 64 '--slots does not go with several servers' \
		env DLOCK_SERVER="$URL_TCP $URL_UNIX" "$DLOCK" --slots 2 job touch ran
	printf 'slots = 2\nserver = "%s %s"\n' "$URL_TCP" "$URL_UNIX" >conf
	judge 78 '--slots does not go with several servers' env DLOCK_SERVER= "$DLOCK" --config conf job touch ran
}

@test "--status, --list and --break: what they are asked for" {
	local option
	bad '--status needs a NAME: dlock --status NAME\.\.\.' --status
	bad '--status needs a NAME' --json --status --
	bad "'--json' after NAME: options go before it .*after -- a NAME may begin with -" --status job --json
	bad "'--server' after NAME" --status job --server=redis://:hush@db1
	bad "--list takes one GLOB at most: quote it, dlock --list 'web-\*'" --list a b
	bad "'-q' after NAME" --list 'a*' -q
	bad '--break needs a NAME: dlock --break NAME' --break
	bad '--break takes one NAME, and no COMMAND: dlock --break NAME' --break a b
	bad '--status takes no value: leave out the =' --status=job
	bad '--break takes no value' --break=job
	bad 'NAME must have 1 to 512 bytes, not 0' --status job ''
	bad 'NAME must have 1 to 512 bytes, not 513' --break "$(printf 'x%.0s' {1..513})"
	bad 'are no hash tag' --status job 'a{'
	bad 'keeps the data of another lock' --break 'job#info{lock:job}'
	judge 78 'are no hash tag' env DLOCK_PREFIX='{' "$DLOCK" --status job
	judge 78 'no server named' env -u DLOCK_SERVER -u REDIS_URL "$DLOCK" --list
	bad '--list: it does not go with --status: one of them at a time' --status --list job
	bad '--break: it does not go with --list' --list --break job
	bad '--status: it does not go with --held' --held --status job
	bad '--held: it does not go with --break' --break --held job
	for option in status list break json force token; do
		bad_line "$option: it belongs on the command line" "$option = yes"
	done
}

@test "--status, --list and --break refuse the options of a run, each by its name" {
	local option letter action argument count=0
	while read -r letter option argument; do
		for action in --status --list --break; do
			bad "^dlock: $option does not go with $action: that takes the options of the server, --prefix, --config" \
				$action "$letter" ${argument:+1} job
			count=$((count + 1))
		done
	done <<-'END'
		-n -n
		-w -w DUR
		-E -E N
		-x -x
		-e -e
		-s -s
		--slots --slots N
		--max-waiters --max-waiters N
		-t -t DUR
		-k -k DUR
		--signal --signal SIG
		--max-hold --max-hold DUR
		--at-least --at-least DUR
		--min-fence --min-fence N
		--label --label TEXT
		--report --report FILE
		--watch --watch
		--reentrant --reentrant
		-o -o
	END
	[ "$count" -ge 50 ]
}

@test "--json, --force and --token go with what they are for" {
	bad '--json goes with --status, --list, --break and --check: dlock --status --json NAME' --json job touch ran
	bad '--json goes with --status' --json --held
	bad '--force goes with --break: dlock --break --force NAME' --force job touch ran
	bad '--force goes with --break' --status --force job
	bad '--force goes with --break' --list --force
	bad '--token goes with --break: dlock --break --token T NAME' --token hush job touch ran
	bad '--token goes with --break' --token=hush --status job
	bad '--token: an empty token' --break --token= job
	bad '--token needs an argument: T' --break --token
	bad '--break needs a NAME' --break --token job
}

@test "flock(1) forms that cannot be had" {
	bad "no COMMAND after NAME '9' \\(a descriptor cannot be locked" 9
	bad "a descriptor cannot be locked" -n 200
	bad "-F is flock's: dlock must stay" -F job touch ran
	bad "-F is flock's" --no-fork job touch ran
	bad "-F is flock's" -nF job touch ran
	bad "-u is flock's: .*gives the lock back when COMMAND ends" -u job
	bad "-u is flock's" --unlock 9
}

@test "NAME and COMMAND" {
	local name
	bad 'no NAME and no COMMAND: dlock .OPTION.* NAME COMMAND'
	bad 'no NAME and no COMMAND' -n
	bad 'no NAME and no COMMAND' --
	bad "no COMMAND after NAME 'job': dlock .OPTION.* NAME COMMAND" job
	bad 'no COMMAND after NAME and --' job --
	bad 'no COMMAND after NAME .a\\x1b.31m\\x07\\x0ab\\xff.' $'a\e[31m\a\nb\xff'
	bad 'no COMMAND after NAME' "$(printf 'x%.0s' {1..5000})"
	bad 'NAME must have 1 to 512 bytes, not 0' '' touch ran
	bad 'NAME must have 1 to 512 bytes, not 513' "$(printf 'x%.0s' {1..513})" touch ran
	for name in 'a{' 'a}' '{}' 'a{}b' '}{' $'\e{'; do
		bad 'are no hash tag: use none, or \{\.\.\.\} with something in it' "$name" touch ran
	done
	for name in 'job#fence{lock:job}' 'job#info{lock:job}' 'job#queue{lock:job}' 'job#members{lock:job}' \
		'job#rfence{lock:job}' 'a{t}#fence'; do
		bad 'keeps the data of another lock: choose another NAME' "$name" touch ran
	done
	bad '-c takes exactly one string: dlock NAME -c' job -c
	bad '-c takes exactly one string' job -c 'touch ran' x
	bad '-c takes its string as an argument of its own' job -c'touch ran'
	bad '-c takes its string as an argument of its own' job --command='touch ran'
	bad '-c comes after NAME' -c 'touch ran' job
	bad "'-n' after NAME: options go before NAME .*goes after --" job -n touch ran
	bad "'--ttl' after NAME: options go before NAME" job --ttl 3s touch ran
	bad "'--ttl' after NAME" job --ttl=hush touch ran
	bad "'--server' after NAME" job --server=redis://:hush@db1 touch ran
	bad "'-c' after --: leave out the --" job -- -c 'touch ran'
	bad "'--command' after --: leave out the --" job -- --command 'touch ran'
}
