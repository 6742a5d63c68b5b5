#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A private Redis: own directory, Unix socket and TCP port, nothing saved.
#
#   start_redis [redis-server OPTION...]
#
# sets and exports REDIS_DIR, REDIS_SOCK, REDIS_PORT, REDIS_PID, URL_UNIX, URL_TCP, and DLOCK_SERVER
# (the Unix socket). An option given here wins over the ones below; `--port 0` means no TCP port.
# In setup_file it serves the whole file, in a test or setup that test alone. restart_redis starts
# a server that has ended again, with the same directory, port and options.
#
# With CHECK_ACL=1 every server has a default user who may use what is below lock:* and nothing that
# Redis calls dangerous: who says no name, dlock that is, is that user. The tests' own redis-cli is
# another one's (helpers/admin), who may do everything.
#
# shellcheck disable=SC2034 # variables are for the caller

# permit_keys PATTERN...: for a test that gives a prefix of its own: until its end, with CHECK_ACL=1,
# everybody may use these keys too.
permit_keys() {
	[ -n "${CHECK_ACL:-}" ] || return 0
	redis ACL SETUSER default "${@/#/\~}" >/dev/null
	at_teardown forbid_keys
}

forbid_keys() {
	redis ACL SETUSER default resetkeys '~lock:*' >/dev/null
}

ACL_USERS=(--user admin on nopass '~*' '&*' +@all
	--user default on nopass '~lock:*' '&lock:*' +@all -@dangerous)

if [ -n "${CHECK_ACL:-}" ] && [ -z "${REAL_REDIS_CLI:-}" ]; then
	REAL_REDIS_CLI=$(command -v redis-cli)
	PATH=$TESTS_DIR/helpers/admin:$PATH
	export CHECK_ACL REAL_REDIS_CLI PATH
fi

# server_has VERSION: is the server at hand as new as the Redis of that version? (Valkey, which came from
# 7.2, is.) SERVER_PRODUCT is Redis or Valkey.
server_has() {
	local major minor wanted_major=${1%%.*} wanted_minor=${1#*.}
	if [ -z "${SERVER_VERSION:-}" ]; then
		SERVER_VERSION=$(redis-server --version)
		SERVER_PRODUCT=${SERVER_VERSION%% *}
		SERVER_VERSION=${SERVER_VERSION#* v=}
		export SERVER_PRODUCT SERVER_VERSION
	fi
	IFS=. read -r major minor _ <<<"$SERVER_VERSION"
	[ "$((major * 1000 + minor))" -ge "$((wanted_major * 1000 + wanted_minor))" ]
}

# needs_server VERSION WHAT: skips the test where the server is older and has not got that.
needs_server() {
	server_has "$1" || skip "Redis before $1 has no $2"
}

# known_rights WORD...: RIGHTS are those words as this server's ACL can have them. Below 6.2 there are no
# rights for channels. Below 7.0 a subcommand is no command of its own: to take one away its command is
# taken, and the others that dlock uses, all of CLIENT, are given back; so are those when CLIENT goes with
# what is dangerous.
known_rights() {
	local word other
	RIGHTS=()
	for word; do
		case $word in
		'&'* | allchannels | resetchannels) ! server_has 6.2 || RIGHTS+=("$word") ;;
		-@dangerous | -*'|'*)
			server_has 7.0 && RIGHTS+=("$word") && continue
			RIGHTS+=("${word%|*}")
			[[ $word != -pubsub* ]] || continue
			for other in +client'|'{setname,id,tracking,caching}; do
				[ "${other#+}" = "${word#-}" ] || RIGHTS+=("$other")
			done
			;;
		*) RIGHTS+=("$word") ;;
		esac
	done
}

start_redis() {
	local - attempt port listen=1
	set +T # as in untraced
	REDIS_DEBUG=()
	REDIS_OPTIONS=("$@")
	[ -z "${CHECK_ACL:-}" ] || REDIS_OPTIONS+=("${ACL_USERS[@]}")
	# Older servers refuse what they do not know.
	! server_has 7.0 || REDIS_DEBUG=(--enable-debug-command local)
	[[ " $* " != *" --port 0 "* ]] || listen=0

	# A Unix socket's path has 107 bytes, and bats' directories are long.
	REDIS_DIR=$(mktemp -d "${TMPDIR:-/tmp}/dlock-redis.XXXXXX") || return 1
	REDIS_SOCK=$REDIS_DIR/s
	for attempt in {1..20}; do
		# Below the range from which the kernel takes ports for outgoing connections. A port that
		# somebody has taken meanwhile ends redis-server at once: then another one.
		port=0
		[ "$listen" = 0 ] || port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
		rm -f "$REDIS_SOCK"
		launch_redis "$port"
		if poll_for 5000 redis_up_or_dead && redis_answers; then
			REDIS_PORT=$port
			URL_UNIX=unix://$REDIS_SOCK
			URL_TCP=redis://127.0.0.1:$port
			DLOCK_SERVER=$URL_UNIX
			REDIS_OF_TEST=${BATS_TEST_NAME:-}
			export REDIS_DIR REDIS_SOCK REDIS_PORT REDIS_PID URL_UNIX URL_TCP DLOCK_SERVER
			return 0
		fi
		grep -qi 'address already in use' "$REDIS_DIR/log" || break
		: >"$REDIS_DIR/log"
	done
	echo "redis-server did not start (attempt $attempt):" >&2
	cat "$REDIS_DIR/log" >&2
	return 1
}

launch_redis() {
	known_rights "${REDIS_OPTIONS[@]}"
	(
		cd "$REDIS_DIR" || exit 1
		close_descriptors
		exec env --default-signal redis-server --port "$1" --bind 127.0.0.1 \
			--unixsocket "$REDIS_SOCK" --dir "$REDIS_DIR" --save "" --daemonize no \
			"${REDIS_DEBUG[@]}" "${RIGHTS[@]}"
	) >>"$REDIS_DIR/log" 2>&1 </dev/null &
	REDIS_PID=$!
	REDIS_SINCE=$(start_time_of "$REDIS_PID") || true
	export REDIS_PID REDIS_SINCE
}

# Only in the shell that called start_redis: the options are not exported.
restart_redis() {
	launch_redis "$REDIS_PORT"
	wait_until 5s redis_answers
}

# populate_for_slow_load COMMAND...: gives the server, by a COMMAND that sends to it, data which it takes some
# 15 seconds to load, when they are saved and it is started again with LOAD_SLOWLY as further options.
# Meanwhile it looks at its connections, before 6.2 each 2 MiB only.
populate_for_slow_load() {
	if server_has 6.2; then
		LOAD_SLOWLY=(--key-load-delay 300 --loading-process-events-interval-bytes 1024)
		"$@" DEBUG POPULATE 60000 >/dev/null
	else
		LOAD_SLOWLY=(--key-load-delay 30000)
		"$@" CONFIG SET rdbcompression no >/dev/null &&
			"$@" DEBUG POPULATE 500 key 200000 >/dev/null
	fi
}

# Closes 3 and above, for a subshell that is about to exec: bats waits for whoever holds its 3, and
# what called bats may have left others open.
close_descriptors() {
	local fd
	for fd in /proc/self/fd/*; do
		fd=${fd##*/}
		[ "$fd" -le 2 ] || eval "exec $fd>&-"
	done
}

redis_answers() {
	[ -S "$REDIS_SOCK" ] && [ "$(redis-cli -s "$REDIS_SOCK" PING 2>/dev/null)" = PONG ]
}

redis_up_or_dead() {
	redis_answers || gone "$REDIS_PID"
}

# redis COMMAND...: one command to the private server; -h for humans is off, so the output is raw. REDIS_LOGIN
# are options of redis-cli that say who it is.
redis() {
	if [ "${1:-} ${2:-}" = 'ACL SETUSER' ]; then
		known_rights "$@"
		set -- "${RIGHTS[@]}"
	fi
	redis-cli -s "$REDIS_SOCK" --raw "${REDIS_LOGIN[@]}" "$@"
}

# redis_line TEXT: the same, with nothing in redis-cli's arguments.
redis_line() {
	local words
	read -ra words <<<"$1"
	known_rights "${words[@]}"
	redis <<<"${RIGHTS[*]}"
}

redis_ended() {
	gone "$REDIS_PID" || [ "$(start_time_of "$REDIS_PID")" != "$REDIS_SINCE" ]
}

# everlasting_keys: the keys that a dlock has left without an expiry, in any database: not the numbers of
# --fence counter, and nothing at a key but what dlock writes there.
everlasting_keys() {
	timeout 2 redis-cli -s "$REDIS_SOCK" --raw EVAL "
		local out = {}
		for db = 0, 15 do
			redis.call('SELECT', db)
			for _, key in ipairs(redis.call('KEYS', '*')) do
				local kind = redis.call('TYPE', key).ok
				local value = kind == 'string' and redis.call('GET', key) or ''
				local is_fence = string.find(key, '#fence', 1, true)
				local ours = is_fence and string.find(value, '^%d+$') and #value >= 16
					or not is_fence and (string.find(value, '^%x+%-%x+%-%x+%-%x+%-%x+$') or
					string.find(value, '^dlock!')) or kind ~= 'string' and string.find(key, '#')
				if redis.call('PTTL', key) == -1 and ours then
					out[#out + 1] = key .. ' (' .. kind .. ') ' .. value
				end
			end
		end
		return out" 0 2>/dev/null | grep -vE '^([A-Z]+ .*)?$' # a test may have made a server that refuses
}

# stop_redis: end the server, also a stopped one, and remove its directory. With CHECK_ACL=1 it also
# fails when a key was left that never expires.
stop_redis() {
	local - left=
	set +T # as in untraced
	[ -n "${REDIS_PID:-}" ] || return 0
	[ -z "${CHECK_ACL:-}" ] || left=$(everlasting_keys) || true
	end_redis
	[ -z "$left" ] || { echo "keys that never expire: $left" >&2; return 1; }
}

end_redis() {
	# Pids are soon used again on a machine where storms of forks are tested.
	if [ "$(start_time_of "$REDIS_PID")" = "$REDIS_SINCE" ]; then
		kill -TERM "$REDIS_PID" 2>/dev/null || true
		kill -CONT "$REDIS_PID" 2>/dev/null || true
	fi
	if ! poll_for 3000 redis_ended; then
		kill -KILL "$REDIS_PID" 2>/dev/null || true
		poll_for 1000 redis_ended || true
	fi
	wait "$REDIS_PID" 2>/dev/null || true
	[[ "$REDIS_DIR" != */dlock-redis.* ]] || rm -rf "$REDIS_DIR"
	REDIS_PID=
}

# scripts_run: how many scripts the server has run since its start.
scripts_run() {
	redis INFO commandstats | awk -F '[=,]' '/^cmdstat_eval(sha)?:/ { sum += $2 } END { print sum + 0 }'
}

# The keys of NAME, as SPEC.md section 7 has them.
key_of() {
	echo "lock:$1"
}

fence_key_of() {
	echo "lock:$1#fence{lock:$1}"
}

info_key_of() {
	echo "lock:$1#info{lock:$1}"
}

# held NAME: the key exists; free NAME: it does not. For wait_until.
held() {
	[ "$(redis EXISTS "lock:$1")" = 1 ]
}

free() {
	[ "$(redis EXISTS "lock:$1")" = 0 ]
}

# steal NAME: what an operator with redis-cli does: another token in the holder's place.
steal() {
	redis SET "lock:$1" "${2:-stolen-by-the-test}" PX "${3:-60000}" >/dev/null
}
