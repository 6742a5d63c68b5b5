#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 1: the config file, the environment, and which of the sources wins. What a line of
# the file is, is in tests/unit/config_test.c; what is refused with nothing sent, in bad_input.bats.

load helpers/common

setup_file() {
	start_redis
	# One that looks for its file where a test may write.
	export ETC=$BATS_FILE_TMPDIR/etc BUILT=$BATS_FILE_TMPDIR/dlock
	make -C "$ROOT_DIR" --no-print-directory -j2 BUILD="$BATS_FILE_TMPDIR/build" PROGRAM="$BUILT" \
		SYSCONFDIR="$ETC" CFLAGS=-O0 "$BUILT" >"$BATS_FILE_TMPDIR/make.log" 2>&1 3>&- ||
		{ cat "$BATS_FILE_TMPDIR/make.log"; return 1; }
}

teardown_file() { stop_redis; }

setup() {
	common_setup
	unset DLOCK_CONFIG
	redis FLUSHALL
	rm -rf "$ETC"
	mkdir "$ETC"
}

# conf LINE...: writes them to ./conf.
conf() {
	printf '%s\n' "$@" >conf
}

# wrong WORDS [OPTION...]: dlock with the file ./conf ends with 78 and one line that begins with the
# file and its line and has WORDS (a regular expression).
wrong() {
	local words=$1
	shift
	run dlock --config conf "$@" job touch ran
	[ "$status" -eq 78 ] || fail "status $status with '$(<conf)': $output"
	[ "${#lines[@]}" -eq 1 ] || fail "not one line with '$(<conf)': $output"
	[[ "$output" =~ ^'dlock: conf:'$words ]] || fail "not /$words/ with '$(<conf)': $output"
	[ ! -e ran ] || fail "COMMAND was run with '$(<conf)'"
}

# shows PROGRAM ARG...: under the lock, the key and the TTL in the server, in seconds.
shows() {
	run "$@" sh -c 'echo "$DLOCK_KEY $(redis-cli -s "$REDIS_SOCK" TTL "$DLOCK_KEY")"'
	assert_success
}

@test "SYSCONFDIR/dlock.conf is read if it is there" {
	shows "$BUILT" job
	assert_output --regexp '^lock:job (29|30)$'
	printf 'ttl = 50s\nprefix = etc:\n' >"$ETC/dlock.conf"
	shows "$BUILT" job
	assert_output --regexp '^etc:job (49|50)$'
	rm -r "$ETC"
	run -0 "$BUILT" job true
	: >"$ETC" # then dlock.conf in it is ENOTDIR
	run -0 "$BUILT" job true
	rm "$ETC"
	run -0 "$BUILT" --version
	run -0 grep -c "/etc/dlock.conf" "$DLOCK" # what the product looks for
}

@test "--config, else DLOCK_CONFIG, is read in its place; /dev/null is none" {
	echo 'prefix = etc:' >"$ETC/dlock.conf"
	echo 'prefix = env:' >env.conf
	echo 'prefix = line:' >line.conf
	shows "$BUILT" job
	assert_output --partial etc:job
	DLOCK_CONFIG='' shows "$BUILT" job
	assert_output --partial etc:job
	DLOCK_CONFIG=env.conf shows "$BUILT" job
	assert_output --partial env:job
	DLOCK_CONFIG=env.conf shows "$BUILT" --config line.conf job
	assert_output --partial line:job
	DLOCK_CONFIG=/no/such/file shows "$BUILT" --config=line.conf job
	assert_output --partial line:job
	shows "$BUILT" --config env.conf --config line.conf job
	assert_output --partial line:job
	DLOCK_CONFIG=/dev/null shows "$BUILT" job
	assert_output --partial lock:job
	shows "$BUILT" --config /dev/null job
	assert_output --partial lock:job
	: >empty.conf
	shows "$BUILT" --config empty.conf job
	assert_output --partial lock:job
}

@test "with -v it is said which file was read" {
	conf 'ttl = 50s'
	run -0 dlock -v --config conf job true
	assert_line --index 0 "dlock: options are read from 'conf'"
	run -0 dlock --config conf job true
	assert_output ''
	run -0 dlock -v --config /dev/null job true
	refute_output --partial 'read from'
}

@test "a file that was named and is not there is 78; so is one that cannot be read" {
	local path
	mkfifo pipe
	mkdir directory
	: >closed
	chmod 000 closed
	head -c 70000 /dev/zero | tr '\0' '#' >enormous
	ln -s loop loop
	for path in missing missing/x closed/x directory pipe enormous loop /dev/zero; do
		run -78 timeout 5 "$DLOCK" --config "$path" job touch ran
		[[ "$output" == "dlock: cannot read the config file '$path': "* ]] || fail "$path: $output"
		run -78 env DLOCK_CONFIG="$path" timeout 5 "$DLOCK" job touch ran
		[[ "$output" == "dlock: cannot read the config file '$path' (DLOCK_CONFIG): "* ]] || fail "$path: $output"
		[ "${#lines[@]}" -eq 1 ]
	done
	[ ! -e ran ]
	run -78 dlock --config directory job true
	assert_output --partial 'a directory'
	run -78 dlock --config pipe job true
	assert_output --partial 'a pipe'
	run -78 dlock --config enormous job true
	assert_output --partial 65536
}

@test "a dlock.conf that is there and cannot be read is 78, though nobody named it" {
	mkdir "$ETC/dlock.conf"
	run -78 "$BUILT" job touch ran
	assert_output --partial "$ETC/dlock.conf"
	assert_output --partial 'a directory'
	[ ! -e ran ]
	run -0 "$BUILT" --config /dev/null job true
	run -0 "$BUILT" --help
	rmdir "$ETC/dlock.conf"
	ln -s dlock.conf "$ETC/dlock.conf"
	run -78 "$BUILT" job touch ran
	[ ! -e ran ]
}

@test "a file that this user may not read is 78" {
	local public
	public=$(mktemp -d "${TMPDIR:-/tmp}/dlock-public.XXXXXX")
	chmod 755 "$public"
	cp "$DLOCK" "$public/dlock"
	echo 'ttl = 5s' >"$public/conf"
	chmod 600 "$public/conf"
	run setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$public/dlock" --config "$public/conf" job true
	rm -rf "$public"
	assert_failure 78
	assert_output --partial 'Permission denied'
}

@test "every option that describes a run or a server may stand in the file, by each of its names" {
	conf 'nonblock' 'conflict-exit-code = 9' 'exclusive' 'ttl = 50s' 'kill-after = 2s' 'signal = INT' \
		'on-lost = signal' 'at-least = 100s' "server = $URL_TCP" 'prefix = "p: #"' 'fence = counter' \
		'min-fence = 41' 'connect-timeout = 1s' 'label = rack 4' 'verbose' 'quiet' 'close'
	run env -u DLOCK_SERVER "$DLOCK" --config conf job sh -c 'echo "$DLOCK_KEY $DLOCK_FENCE"'
	assert_success
	assert_line 'p: #job 42'
	assert_line --partial "dlock: acquired 'job'"
	run redis GET 'p: #job'
	assert_output --partial 'dlock!done:'
	run redis PTTL 'p: #job'
	assert_between 90000 100000 "$output" PTTL
	# It is not had, which is said with 9 and, quiet, by nothing.
	run -9 env -u DLOCK_SERVER "$DLOCK" --config conf job true
	refute_output --partial 'held'
	conf 'nb'
	redis SET lock:job x PX 60000
	run -75 dlock --config conf job true
	conf 'timeout = 100ms'
	run -75 dlock --config conf job true
	conf 'wait = 0'
	run -75 dlock --config conf job true
}

@test "every option of the table is either taken or refused with a sentence in the file" {
	local name count=0
	while read -r name; do
		case $name in --command) continue ;; esac
		conf "${name#--} = nonsense"
		run dlock --config conf job true
		case $name in
		--config | --help | --version)
			assert_failure 78
			assert_output --partial "conf:1: ${name#--}: it belongs on the command line"
			;;
		*)
			refute_output --partial 'unknown'
			refute_output --partial 'option = value'
			;;
		esac
		count=$((count + 1))
	done < <("$DLOCK" --help | grep -E -- '^  (-[A-Za-z],|   ) --[a-z]' | cut -c 1-33 | grep -oE -- '--[a-z][a-z-]+')
	[ "$count" -ge 23 ]
}

@test "values in quotes, comments, CR LF, a byte order mark, no end to the last line" {
	printf '\xef\xbb\xbf# all machines\r\n\r\nttl = 50s # not 30\r\nprefix = " # \\"q\\" \\\\ "' >conf
	shows dlock --config conf job
	assert_output --regexp '^ # "q" \\ job (49|50)$'
}

@test "errors name the file, the line, the option, and what would be right" {
	conf 'ttl = 50s' '' 'wait = soon'
	wrong "3: wait: not a duration: 'soon'"
	conf 'ttl = 31d'
	wrong "1: ttl: not a TTL from 1s to 30d: '31d'"
	conf 'conflict-exit-code = 600'
	wrong '1: conflict-exit-code: not a number from 0 to 255'
	conf 'on-lost = ignore'
	wrong "1: on-lost: neither 'kill' nor 'signal'"
	conf 'server = localhost'
	wrong '1: server: no scheme .*redis://localhost:6379'
	conf 'server = redis://db1?nosuchkey=1'
	wrong "1: server: unknown key 'nosuchkey'"
	conf 'server = redis://db1 redis://db2'
	wrong '1: server: more than one server'
	conf 'ttl ='
	wrong '1: ttl: not a duration'
	conf 'ttl'
	wrong '1: ttl: it needs a value: ttl = DUR'
	conf 'nonblock = maybe'
	wrong "1: nonblock: neither 'yes' nor 'no'"
	conf 'nonblock ='
	wrong "1: nonblock: neither 'yes' nor 'no'"
	conf 'ttl 50s'
	wrong '1: a line is: option = value'
}

@test "an unknown option in the file: the nearest name, the long name, or when it is no name for long" {
	conf '' 'nonblok = yes'
	wrong "2: unknown option 'nonblok': did you mean nonblock"
	conf 'on_lost = kill'
	wrong "1: unknown option 'on_lost': did you mean on-lost"
	conf 'frobnicate = 1'
	wrong "1: unknown option 'frobnicate'"
	conf 't = 5s'
	wrong '1: an option stands here by its long name, without dashes: ttl'
	conf '--ttl = 5s'
	wrong '1: an option stands here by its long name, without dashes: ttl'
	conf '-t = 5s'
	wrong '1: .*ttl'
	conf 'ttl = 5s' '[server]'
	wrong '2: a config file has no .sections.'
	conf 'slots = 3'
	wrong '1: slots is not in this version'
	conf 'command = true'
	wrong '1: command: it belongs on the command line'
	conf 'TTL = 5s'
	wrong '1: .*did you mean ttl'
	# No abbreviations: what is one today is ambiguous tomorrow.
	conf 'conflict = 5'
	wrong "1: unknown option 'conflict': did you mean conflict-exit-code"
}

@test "an option twice in a file, or two that set the same, is an error that names the first" {
	conf 'ttl = 5s' '' 'ttl = 6s'
	wrong '3: ttl: line 1 has set it already'
	conf 'timeout = 5s' 'wait = 5s'
	wrong '2: wait: line 1 has set it already'
	conf 'wait = 5s' 'nonblock'
	wrong '2: nonblock: wait in line 1 sets the same'
	conf 'nonblock = no' 'nonblock = yes'
	wrong '2: nonblock: line 1 has set it already'
	conf 'nonblock = no' 'wait = 50ms'
	redis SET lock:job x PX 60000
	run -75 dlock --config conf job true
}

@test "precedence: command line, environment, file, default; each option for itself (P66)" {
	conf 'ttl = 40s' 'prefix = file:'
	shows dlock --config conf job
	assert_output --regexp '^file:job (39|40)$'
	DLOCK_TTL=50s shows dlock --config conf job
	assert_output --regexp '^file:job (49|50)$'
	DLOCK_PREFIX=env: shows dlock --config conf job
	assert_output --regexp '^env:job (39|40)$'
	DLOCK_TTL=50s shows dlock --config conf -t 60s job
	assert_output --regexp '^file:job (59|60)$'
	DLOCK_TTL=50s DLOCK_PREFIX=env: shows dlock --config conf -t 60s --prefix line: job
	assert_output --regexp '^line:job (59|60)$'
	shows dlock --config conf -t 50s -t 60s job # the last of two
	assert_output --regexp '^file:job (59|60)$'
	# Empty is as unset, but for the prefix, which may be empty.
	DLOCK_TTL='' shows dlock --config conf job
	assert_output --regexp '^file:job (39|40)$'
	DLOCK_PREFIX='' shows dlock --config conf job
	assert_output --regexp '^job (39|40)$'
	shows dlock --config conf --prefix '' job
	assert_output --regexp '^job (39|40)$'
	conf 'prefix ='
	shows dlock --config conf job
	assert_output --regexp '^job (29|30)$'
}

@test "precedence of labels: command line, environment, file" {
	conf 'label = of the file'
	label_of() {
		run dlock --config conf "$@" job sh -c 'redis-cli -s "$REDIS_SOCK" HVALS "$0"' "$(info_key_of job)"
		assert_success
	}
	label_of
	assert_output --partial 'of the file'
	DLOCK_LABEL='of the environment' label_of
	assert_output --partial 'of the environment'
	DLOCK_LABEL='' label_of
	assert_output --partial 'of the file'
	DLOCK_LABEL='of the environment' label_of --label 'of the line'
	assert_output --partial 'of the line'
	refute_output --partial 'of the environment'
	label_of --label ''
	refute_output --partial 'of the file'
}

@test "precedence of servers: -S, DLOCK_SERVER, REDIS_URL, file" {
	local nowhere=unix:///no/such/socket
	conf "server = $nowhere"
	run -0 env DLOCK_SERVER=$nowhere REDIS_URL=$nowhere "$DLOCK" --config conf -S "$URL_UNIX" job true
	run -0 env DLOCK_SERVER="$URL_UNIX" REDIS_URL=$nowhere "$DLOCK" --config conf job true
	run -0 env -u DLOCK_SERVER REDIS_URL="$URL_UNIX" "$DLOCK" --config conf job true
	run -0 env DLOCK_SERVER='' REDIS_URL="$URL_UNIX" "$DLOCK" --config conf job true
	run -69 env -u DLOCK_SERVER REDIS_URL='' "$DLOCK" --config conf job true
	conf "server = $URL_UNIX"
	run -0 env -u DLOCK_SERVER -u REDIS_URL "$DLOCK" --config conf job true
	run -0 env DLOCK_SERVER='' REDIS_URL='' "$DLOCK" --config conf job true
	run -69 env -u DLOCK_SERVER REDIS_URL=$nowhere "$DLOCK" --config conf job true
	run -69 env DLOCK_SERVER=$nowhere REDIS_URL="$URL_UNIX" "$DLOCK" --config conf job true
	run -69 env -u DLOCK_SERVER -u REDIS_URL "$DLOCK" --config conf -S $nowhere job true
}

@test "-n and -w set the same: one of them overrules both in the file" {
	redis SET lock:job x PX 60000
	conf 'nonblock = yes'
	run -75 dlock --config conf job true
	run -124 timeout 0.5 "$DLOCK" --config conf -w 1m job true
	conf 'wait = 1m'
	run -75 dlock --config conf -n job true
	run -75 dlock --config conf -w 0 job true
	run -124 timeout 0.5 "$DLOCK" --config conf job true
	# The last on the command line counts.
	run -75 dlock --config conf -w 1m -n job true
	run -75 dlock --config conf -n -w 50ms job true
}

@test "a switch of the file and another of the command line live together" {
	conf 'quiet'
	redis SET lock:job x PX 60000
	run -75 dlock --config conf -n job true
	assert_output ''
	conf 'quiet = no'
	run -75 dlock --config conf -n job true
	assert_output --partial held
	redis DEL lock:job
	conf 'verbose'
	run -0 dlock --config conf job true
	assert_output --partial acquired
	conf 'verbose = no'
	run -0 dlock --config conf job true
	assert_output ''
}

@test "connect-timeout in a URL is as strong as the URL" {
	# limit_of TEXT ARG...: a server that never answers is given up after TEXT.
	/usr/bin/python3 -c '
import socket, time
s = socket.socket(socket.AF_UNIX)
s.bind("silent")
s.listen(50)
time.sleep(60)
' 3>&- &
	track "$!"
	wait_until 3s test -S silent
	local url=unix://$WORK/silent
	took_between() {
		local least=$1 most=$2 began
		shift 2
		began=$(date +%s%3N)
		run -69 dlock --config conf -n "$@" job true
		assert_between "$least" "$most" $(($(date +%s%3N) - began)) "dlock $*"
	}
	conf "server = $url?connect-timeout=200ms" 'connect-timeout = 1s'
	DLOCK_SERVER='' took_between 950 2500
	conf 'connect-timeout = 5s'
	took_between 150 2500 -S "$url?connect-timeout=200ms"
	DLOCK_SERVER="$url?connect-timeout=200ms" took_between 150 2500
	took_between 950 2500 -S "$url?connect-timeout=200ms" --connect-timeout 1s
}

@test "the whole file must be right, also where it is overruled; the environment need not be" {
	conf 'ttl = soon'
	wrong '1: ttl: not a duration' -t 5s
	conf 'server = nonsense'
	wrong '1: server: no scheme' -S "$URL_UNIX"
	conf 'nonblock = maybe'
	wrong '1: nonblock' -n
	run -0 env DLOCK_TTL=soon DLOCK_SERVER=nonsense REDIS_URL=nonsense DLOCK_CONFIG=/no/such \
		"$DLOCK" --config /dev/null -t 5s -S "$URL_UNIX" job true
}

@test "options that do not go together: 64 when one is of the command line, else 78" {
	conf 'ttl = 3s' 'kill-after = 2s'
	run -78 dlock --config conf job touch ran
	assert_output --partial 'a grace of'
	conf 'kill-after = 2s'
	run -78 env DLOCK_TTL=3s "$DLOCK" --config conf job touch ran
	run -64 dlock --config conf -t 3s job touch ran
	conf 'ttl = 3s'
	run -64 dlock --config conf -k 2s job touch ran
	conf 'prefix = "x{"'
	run -78 dlock --config conf job touch ran
	run -78 env DLOCK_PREFIX='x{' "$DLOCK" job touch ran
	run -64 dlock --prefix 'x{' job touch ran
	# NAME is at fault, whatever the prefix.
	run -64 env DLOCK_PREFIX=p: "$DLOCK" '' touch ran
	run -64 env DLOCK_PREFIX=p: "$DLOCK" 'a{' touch ran
	run -64 env DLOCK_PREFIX=p: "$DLOCK" "$(printf 'x%.0s' {1..513})" touch ran
	run -78 env DLOCK_PREFIX="$(printf 'x%.0s' {1..513})" "$DLOCK" job touch ran
	[ ! -e ran ]
}

@test "REDIS_URL may carry other programs' keys, and -v says which were ignored" {
	unset DLOCK_SERVER
	REDIS_URL="$URL_TCP?ssl_cert_reqs=none&timeout=5&db=3" run dlock -v job \
		redis-cli -s "$REDIS_SOCK" -n 3 EXISTS lock:job
	assert_success
	assert_line 'dlock: REDIS_URL in the environment: ignored what dlock does not know: ssl_cert_reqs, timeout'
	assert_line 1
	REDIS_URL="$URL_TCP?ssl_cert_reqs=none" run -0 dlock job true
	assert_output ''
	REDIS_URL="$URL_TCP?db=x" run -78 dlock job true
	assert_output --partial 'REDIS_URL in the environment'
	# It is ours in every other place.
	DLOCK_SERVER="$URL_TCP?ssl_cert_reqs=none" run -78 dlock job true
	assert_output --partial "unknown key 'ssl_cert_reqs'"
}

@test "the file may be a script's own, given by a relative path, and COMMAND sees nothing of it" {
	conf 'ttl = 50s'
	run -0 dlock --config conf job sh -c 'ls /proc/$$/fd'
	local without=$output
	[ -n "$without" ]
	run -0 dlock job sh -c 'ls /proc/$$/fd'
	assert_equal "$without" "$output"
}

@test "the example of the man page is taken as it stands" {
	sed -n '/^\.Sh CONFIG FILE/,/^\.Ed/p' "$ROOT_DIR/man/dlock.1" | sed -e '1,/^\.Bd/d' -e '/^\.Ed/d' >conf
	run -0 grep -c . conf
	[ "$output" -ge 4 ]
	shows dlock --config conf -S "$URL_UNIX" job
	assert_output --regexp '^lock:job (59|60)$'
	sed -i "s|redis://db1.example.net|$URL_TCP|" conf
	run env -u DLOCK_SERVER "$DLOCK" --config conf job sh -c \
		'redis-cli -s "$REDIS_SOCK" HVALS "$0"' "$(info_key_of job)"
	assert_success
	assert_output --partial 'rack 4, #2'
}

@test "the example file is taken as it stands, and with every line of it" {
	shows dlock --config "$ROOT_DIR/examples/dlock.conf" job
	assert_output --regexp '^lock:job (29|30)$'
	sed -E 's/^#([a-z-]+ = )/\1/' "$ROOT_DIR/examples/dlock.conf" >conf
	run -0 grep -cE '^[a-z-]+ = ' conf
	[ "$output" -ge 4 ]
	run -69 dlock --config conf -S unix:///no/such/socket job true
}
