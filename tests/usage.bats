#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md sections 1 and 2: what is refused before anything is sent to a server, and with what words;
# where settings come from.

load helpers/common

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
}

connections() {
	redis INFO stats | tr -d '\r' | sed -n 's/^total_connections_received://p'
}

# refused STATUS WORDS ARG...: dlock ARG... says WORDS (a regular expression) and ends with STATUS, runs
# nothing, and talks to no server.
refused() {
	local expected=$1 words=$2 before after
	shift 2
	before=$(connections)
	run dlock "$@"
	after=$(connections)
	[ "$status" -eq "$expected" ] || fail "dlock $(printf '%q ' "$@"): status $status: $output"
	[ "$after" -eq $((before + 1)) ] || fail "dlock $(printf '%q ' "$@"): it connected"
	[ -n "$output" ] || fail "dlock $(printf '%q ' "$@"): said nothing"
	[[ "$output" =~ $words ]] || fail "dlock $(printf '%q ' "$@"): not /$words/ in: $output"
	[[ "${lines[0]}" == 'dlock: '* ]] || fail "dlock $(printf '%q ' "$@"): $output"
	[ ! -e ran ] || fail "dlock $(printf '%q ' "$@"): COMMAND was run"
}

@test "a bad duration is 64 and says what would be right" {
	local value
	for value in '' ' 1' '1 ' -1 +1 1e3 inf nan 0x10 1x 1,5 . s ms 1.5.5 1ss '1 s' 1w 1S \
		99999999999999999999 300000000d; do
		refused 64 'wait' --wait "$value" job touch ran
	done
	refused 64 '(ms|seconds)' -w soon job touch ran
	refused 64 'connect-timeout' --connect-timeout 1y job touch ran
	refused 64 'at-least' --at-least 1y job touch ran
	refused 64 'kill-after' -k 1y job touch ran
}

@test "a TTL outside of 1s to 30d is refused, with the bounds (P66)" {
	local value
	for value in 0 0.5 999ms 31d 721h; do
		refused 64 '1s.*30d' -t "$value" job touch ran
		refused 64 '1s.*30d' --ttl "$value" job touch ran
	done
	run -0 dlock -t 1s -k 100ms job true
	run -0 dlock -t 30d job true
	run -0 dlock -t 1000ms -k 100ms job true
}

@test "a grace that leaves no room for renewals is refused, with the numbers" {
	refused 64 '2' -t 3s -k 2s job touch ran
	refused 64 '30' -t 30s -k 25s job touch ran
	run -0 dlock -t 30s -k 5s job true
	run -0 dlock -t 3s -k 0 job true
}

@test "a bad number is 64 and says the range (P33)" {
	local value
	for value in 600 256 -1 '' x 1x 1.5 +1 ' 1' 99999999999999999999; do
		refused 64 '0.*255' -n -E "$value" job touch ran
	done
	for value in 9007199254740992 -1 x '' 1.5 18446744073709551617; do
		refused 64 'min-fence' --min-fence "$value" job touch ran
	done
	run -0 dlock --min-fence 9007199254740991 job true
}

@test "a bad choice is 64 and says the choices" {
	refused 64 'kill.*signal' --on-lost ignore job touch ran
	refused 64 'clock.*counter' --fence redis job touch ran
	refused 64 'signal' --signal NOSUCH job touch ran
	refused 64 'signal' --signal 0 job touch ran
	refused 64 'signal' --signal 65 job touch ran
	refused 64 'signal' --signal '' job touch ran
	local good
	for good in TERM SIGTERM term 15 INT SIGUSR1 KILL; do
		run dlock --signal "$good" job true
		assert_success
	done
}

@test "an unknown option is 64 and names it" {
	refused 64 'frobnicate' --frobnicate job touch ran
	refused 64 'Z' -Z job touch ran
	refused 64 'nosuch' --nosuch=1 job touch ran
	refused 64 'ttl' job -n --ttl 2>/dev/null || true
	refused 64 'ttl' --ttl
	refused 64 'quiet' --quiet=yes job touch ran
}

@test "flock(1) forms that cannot be had are 64, with advice" {
	refused 64 'descriptor|COMMAND' 9
	refused 64 '.' -F job touch ran
	refused 64 '.' -u job
	refused 64 '.' --no-fork job touch ran
}

@test "options of flock(1) that mean nothing here are accepted" {
	run -0 dlock -x -e -o --exclusive --close job true
	run -0 dlock -xeo job true
	run -0 dlock -xn job true
}

@test "a NAME of no byte, of more than 512, or with a brace that makes no hash tag is 64" {
	refused 64 'NAME' '' touch ran
	refused 64 '512' "$(printf 'x%.0s' {1..513})" touch ran
	run -0 dlock "$(printf 'x%.0s' {1..512})" true
	local name
	for name in 'a{' 'a}' '{}' 'a{}b' '}{'; do
		refused 64 '.' "$name" touch ran
	done
	run dlock 'a{tag}b' sh -c 'echo "$DLOCK_KEY"'
	assert_success
	assert_output 'lock:a{tag}b'
	run redis --scan
	assert_line 'lock:a{tag}b#fence'
}

@test "a NAME that would be a sibling of another is refused" {
	local name
	for name in 'job#fence{lock:job}' 'job#info{lock:job}' 'job#queue{lock:job}' 'a{t}#fence'; do
		refused 64 '.' "$name" touch ran
	done
}

@test "a NAME may have any other byte, and does not drive the terminal" {
	local name=$'a b\tc\n\e[31m\xff*?"$(x)'
	run dlock "$name" sh -c 'printf %s "$DLOCK_NAME"'
	assert_output "$name"
	start_dlock "$name" sleep 60
	wait_until 2s running "$OUTER"
	run -75 dlock -n "$name" true
	[ "${#lines[@]}" -eq 1 ]
	[[ "$output" != *[$'\e\t\xff']* ]] || fail "unescaped: $(cat -v <<<"$output")"
}

@test "no server named is 78, and the line says how to name one" {
	refused_env() { run env -u DLOCK_SERVER -u REDIS_URL "$@"; }
	refused_env "$DLOCK" job touch ran
	assert_failure 78
	assert_output --partial DLOCK_SERVER
	[ ! -e ran ]
	refused_env DLOCK_SERVER= REDIS_URL= "$DLOCK" job touch ran
	assert_failure 78
}

@test "a bad setting in the environment is 78 and names the variable" {
	run -78 env DLOCK_TTL=soon "$DLOCK" job touch ran
	assert_output --partial DLOCK_TTL
	run -78 env DLOCK_SERVER=http://x/ "$DLOCK" job touch ran
	assert_output --partial DLOCK_SERVER
	[ ! -e ran ]
}

@test "a scheme that is not offered is 64, with the list; rediss:// is never tried in clear" {
	refused 64 'redis://.*unix://' -S http://localhost/ job touch ran
	refused 64 '.' -S localhost job touch ran
	refused 64 '.' -S "rediss://127.0.0.1:$REDIS_PORT" job touch ran
	refused 64 'nosuchkey' -S "$URL_UNIX?nosuchkey=1" job touch ran
	refused 64 '.' -S "redis://127.0.0.1:99999" job touch ran
	refused 64 '.' -S "redis://127.0.0.1:$REDIS_PORT/x" job touch ran
	refused 64 '.' -S '' job touch ran
}

# prints what an option ended up as: the lock's key and TTL in the server.
seen_in_server() {
	run dlock "$@" sh -c 'echo "$DLOCK_KEY"; redis-cli -s "$REDIS_SOCK" PTTL "$DLOCK_KEY"'
}

@test "precedence: command line, environment, default (P66)" {
	seen_in_server job
	assert_line --index 0 lock:job
	assert_between 29000 30000 "${lines[1]}" PTTL
	DLOCK_TTL=50s DLOCK_PREFIX=env: seen_in_server job
	assert_line --index 0 env:job
	assert_between 49000 50000 "${lines[1]}" PTTL
	DLOCK_TTL=50s DLOCK_PREFIX=env: seen_in_server -t 40 --prefix line: job
	assert_line --index 0 line:job
	assert_between 39000 40000 "${lines[1]}" PTTL
	DLOCK_PREFIX='' seen_in_server job
	assert_line --index 0 job
	seen_in_server --prefix '' -t 1.5s -k 0 job
	assert_line --index 0 job
	assert_between 1000 1500 "${lines[1]}" PTTL
	seen_in_server -t 50s -t 40s job
	assert_between 39000 40000 "${lines[1]}" 'the last of two'
}

@test "precedence of servers: -S, DLOCK_SERVER, REDIS_URL" {
	local nowhere=unix:///no/such/socket
	run -0 env DLOCK_SERVER=$nowhere REDIS_URL=$nowhere "$DLOCK" -S "$URL_UNIX" job true
	run -0 env DLOCK_SERVER="$URL_UNIX" REDIS_URL=$nowhere "$DLOCK" job true
	run -0 env -u DLOCK_SERVER REDIS_URL="$URL_TCP" "$DLOCK" job true
	run -69 env -u DLOCK_SERVER REDIS_URL=$nowhere "$DLOCK" job true
	run -69 env DLOCK_SERVER=$nowhere REDIS_URL="$URL_UNIX" "$DLOCK" job true
	# An unknown key is refused in -S and ignored in REDIS_URL.
	run -0 env -u DLOCK_SERVER REDIS_URL="$URL_TCP?nosuchkey=1" "$DLOCK" job true
}

@test "a database is chosen in either form of URL" {
	run dlock -S "$URL_TCP/3" job redis-cli -s "$REDIS_SOCK" -n 3 EXISTS lock:job
	assert_output 1
	run dlock -S "$URL_UNIX?db=4" job redis-cli -s "$REDIS_SOCK" -n 4 EXISTS lock:job
	assert_output 1
	run dlock job redis-cli -s "$REDIS_SOCK" -n 0 EXISTS lock:job
	assert_output 1
}

@test "-h and -V are for stdout, status 0, and need no server" {
	local option
	for option in -h --help -V --version; do
		run --separate-stderr env -u DLOCK_SERVER "$DLOCK" "$option"
		assert_success
		[ -n "$output" ]
		[ -z "$stderr" ]
	done
}

@test "long options may be given as usual: =, abbreviated, before NAME" {
	run -0 dlock --ttl=5s --label=x --prefix=y: job true
	run -0 dlock --nonb job true
}
