#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 1: an option is taken from the command line, else the environment, else the config
# file, else it has its default.

load helpers/common
load helpers/config

setup_file() { start_redis; }
teardown_file() { stop_redis; }

setup() {
	common_setup
	unset DLOCK_CONFIG
	redis FLUSHALL
}

@test "precedence: command line, environment, file, default; each option for itself (P66)" {
	permit_keys '*'
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

# mode_of OPTION...: what stands at the key while dlock runs with ./conf and these.
mode_of() {
	run -0 dlock --config conf "$@" job sh -c 'value=$(redis-cli -s "$REDIS_SOCK" GET lock:job)
		[ "$value" != "$DLOCK_TOKEN" ] || value=exclusive; echo "$value"'
}

@test "-x, -s and --slots set the same: one of them overrules all in the file" {
	conf 'slots = 3'
	mode_of
	assert_output 'dlock!slots:3'
	mode_of --slots 2
	assert_output 'dlock!slots:2'
	mode_of -s
	assert_output 'dlock!shared'
	mode_of -e
	assert_output exclusive
	conf 'shared'
	mode_of
	assert_output 'dlock!shared'
	mode_of -x
	assert_output exclusive
	mode_of --slots 2
	assert_output 'dlock!slots:2'
	conf 'shared = no'
	mode_of
	assert_output exclusive
	conf 'exclusive'
	mode_of -s
	assert_output 'dlock!shared'
}

@test "max-waiters and the wait are each for itself, in the file and on the line" {
	redis SET lock:job x PX 60000
	conf 'max-waiters = 0'
	run -75 timeout 10 "$DLOCK" --config conf job true
	run -75 timeout 10 "$DLOCK" --config conf -w 1m job true
	run -124 timeout 0.5 "$DLOCK" --config conf --max-waiters 5 job true
	conf 'max-waiters = 5' 'watch' 'wait = 50ms'
	run -75 timeout 10 "$DLOCK" --config conf job true
	run -124 timeout 0.5 "$DLOCK" --config conf -w 1m job true
	run -75 timeout 10 "$DLOCK" --config conf --max-waiters 0 -w 1m job true
}

@test "a report lives with the settings of a run in file and environment, and looks at the same ones" {
	permit_keys '*'
	conf 'slots = 3' 'max-waiters = 2' 'watch' 'at-least = 1m' 'nonblock' 'report = no-such-directory/report'
	local action
	redis SET lock:job x PX 60000
	for action in --status --break; do
		run env DLOCK_LABEL=x "$DLOCK" --config conf $action job
		[ "$status" -ne 64 ] && [ "$status" -ne 78 ] || fail "$action: $status: $output"
	done
	run -0 dlock --config conf --list
	assert_output --partial job
	run -1 dlock --config conf --prefix other: --status job
	DLOCK_PREFIX=other: run -1 dlock --config conf --status job
	conf 'ttl = soon'
	run -78 dlock --config conf --list
	run -78 env DLOCK_TTL=soon "$DLOCK" --list
	run -69 env DLOCK_SERVER=unix:///no/such/socket "$DLOCK" --status job
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
