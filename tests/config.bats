#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 1: the config file. Which of the sources wins is in precedence.bats, what a line of
# the file is, in tests/unit/config_test.c, what is refused with nothing sent, in bad_settings.bats.

load helpers/common
load helpers/config

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

@test "SYSCONFDIR/dlock.conf is read if it is there" {
	permit_keys 'etc:*'
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
	permit_keys 'etc:*' 'env:*' 'line:*'
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
	permit_keys '*'
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
	permit_keys '*'
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
	conf 'server = redis://db1 http://db2'
	wrong "1: server: server 2: unknown scheme 'http'"
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
	conf 'quarantine = soon'
	wrong "1: quarantine: not a duration: 'soon'"
	conf 'slot = 3'
	wrong "1: unknown option 'slot': did you mean slots"
	conf 'max-waiter = 3'
	wrong "1: unknown option 'max-waiter': did you mean max-waiters"
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
	conf 'server = redis://db1' 'server = redis://db2'
	wrong '2: server: line 1 has set it already: several servers stand in one line, with blanks between'
	conf 'nonblock = no' 'wait = 50ms'
	redis SET lock:job x PX 60000
	run -75 dlock --config conf job true
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
