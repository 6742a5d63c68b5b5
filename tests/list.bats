#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# --list [GLOB]: every lock under the prefix, a line each.
#
# shellcheck disable=SC2016,SC2154 # dollars for another shell; output, lines, stderr are set by run

load helpers/common
load helpers/sights

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL >/dev/null
}

# fill N PREFIX: keys PREFIX0, PREFIX1, ... of somebody else.
fill() {
	redis EVAL "for i = 0, ARGV[1] - 1 do redis.call('SET', ARGV[2] .. i, 'x', 'PX', 600000) end" 0 "$@" >/dev/null
}

@test "--list: no lock: nothing, or an empty array; status 0" {
	run -0 --separate-stderr dlock --list
	[ -z "$output" ] && [ -z "$stderr" ]
	run -0 dlock --json --list
	[ "$output" = '[]' ]
	shown 'a == []'
}

@test "--list: a line each, in the order of names, aligned; siblings, other prefixes and free locks are not shown" {
	start_dlock b-job sleep 97
	wait_until 5s held b-job
	make_waiters b-job 2
	make_members pool 'dlock!slots:3' 2
	make_members a.reader 'dlock!shared' 1
	make_members dead 'dlock!shared' 0
	redis SET 'lock:{tag}job' abc PX 60000 >/dev/null
	redis SET 'lock:{tag}job#fence' 5 >/dev/null
	redis SET 'lock:x#rfence{lock:x}' 5 >/dev/null
	redis SET 'lock:odd{' 5 >/dev/null # no lock can be called so
	redis SET 'lock:' 5 >/dev/null
	redis SET 'other:job' 5 >/dev/null
	redis HSET 'lock:hash' a b >/dev/null
	run -0 dlock --list
	[ "${#lines[@]}" -eq 5 ]
	[[ "${lines[0]}" =~ ^'a.reader  shared   shared by 1: u@h0 pid 1 c, for '[0-9m.]+'s, fence 1; the last expires in '[0-9m.]+'s'$ ]]
	[[ "${lines[1]}" =~ ^'b-job     held     '$(id -un)@.*' pid '$OUTER' sleep, for '.*'; expires in '[0-9.]+'s; 2 waiting'$ ]]
	[ "${lines[2]}" = 'hash      foreign  an unknown client (its key is of type hash); it has no expiry' ]
	[[ "${lines[3]}" =~ ^'pool      slots    2 of 3 slots held: u@h0 pid 1 c, for '.*', and 1 more; the last expires in '[0-9m.]+'s'$ ]]
	[[ "${lines[4]}" =~ ^'{tag}job  foreign  an unknown client (token abc); expires in '[0-9.]+'s'$ ]]
	run -0 dlock --json --list
	shown '[(each["name"], each["state"]) for each in a] == [("a.reader", "shared"), ("b-job", "held"), ("hash", "foreign"), ("pool", "slots"), ("{tag}job", "foreign")]'
	shown '[w["token"] for w in a[1]["waiters"]] == ["w1", "w2"] and len(a[3]["holders"]) == 2 and a[3]["key"] == "lock:pool"'
}

@test "--list GLOB: matched against the whole NAME" {
	for name in job job2 'my job' nojob; do
		redis SET "lock:$name" x PX 60000 >/dev/null
	done
	names() {
		run -0 dlock --json --list "$1"
		shown "sorted(each['name'] for each in a) == $2"
	}
	names 'job' '["job"]'
	names 'job*' '["job", "job2"]'
	names '*job' '["job", "my job", "nojob"]'
	names 'job?' '["job2"]'
	names '[mn]*' '["my job", "nojob"]'
	names '*\ *' '["my job"]'
	names 'lock:*' '[]'
	names '' '[]'
	names '*' '["job", "job2", "my job", "nojob"]'
}

@test "--list: the prefix stands for itself, whatever bytes it has; it may be empty" {
	permit_keys '*'
	for key in 'a*b:job' 'aXb:job' '[ab]:job' 'a:job' 'q?\:job' 'qx\:job'; do
		redis SET "$key" x PX 60000 >/dev/null
	done
	for prefix in 'a*b:' '[ab]:' 'q?\:'; do
		run -0 dlock --json --prefix "$prefix" --list
		shown 'len(a) == 1 and l["name"] == "job"'
	done
	run -0 dlock --json --prefix '' --list
	shown 'len(a) == 6 and "aXb:job" in [each["name"] for each in a]'
	run -0 dlock --json --prefix '' --list 'a:*'
	shown '[each["name"] for each in a] == ["a:job"]'
}

@test "--list: 300 locks among 20,000 other keys, each once; SCAN, never KEYS, and few requests" {
	fill 20000 noise:
	make_members shared 'dlock!shared' 60
	make_waiters shared 60
	redis EVAL "for i = 1, 299 do
		redis.call('SET', 'lock:l' .. i, 't' .. i, 'PX', 600000)
		redis.call('HSET', 'lock:l' .. i .. '#info{lock:l' .. i .. '}', 't' .. i, 'host=h\nuser=u\npid=' .. i ..
			'\ncommand=c\nsince=1\nfence=' .. i .. '\n') end" 0 >/dev/null
	redis CONFIG RESETSTAT >/dev/null
	run -0 dlock --list
	[ "${#lines[@]}" -eq 300 ]
	[ "$(printf '%s\n' "${lines[@]}" | cut -d' ' -f1 | sort -u | wc -l)" -eq 300 ]
	[[ "${lines[299]}" == 'shared  shared   shared by 60: '*', and 59 more; the last expires in '*'; 60 waiting' ]]
	[ "$(scripts_run)" -lt 60 ]
	run ! grep -i -E 'cmdstat_(keys|set|del|zrem|hset|hdel|pexpire|publish|zremrangebyscore):' <<<"$(redis INFO commandstats)"
	run -0 dlock --json --list
	shown 'len(a) == 300 and len(set(each["name"] for each in a)) == 300'
	shown 'len(a[299]["holders"]) == 60 and len(a[299]["waiters"]) == 60'
	shown 'sorted(each["holders"][0]["pid"] for each in a[:299]) == list(range(1, 300))'
}

@test "--list: 200 locks with names of 512 bytes, and a prefix of 500" {
	permit_keys '*'
	redis EVAL "for i = 1000, 1199 do
		local key = string.rep('p', 500) .. string.rep('n', 508) .. i
		redis.call('SET', key, 't', 'PX', 600000)
		redis.call('SET', key .. '#fence{' .. key .. '}', 1)
		redis.call('HSET', key .. '#info{' .. key .. '}', 't', 'host=h\nuser=u\npid=' .. i .. '\nfence=1\n') end" 0 >/dev/null
	prefix=$(printf 'p%.0s' {1..500})
	run -0 dlock --json --prefix "$prefix" --list
	shown 'len(a) == 200 and sorted(each["holders"][0]["pid"] for each in a) == list(range(1000, 1200))'
	run -0 dlock --prefix "$prefix" --list
	[ "${#lines[@]}" -eq 200 ]
}

@test "--list: names of any bytes cannot drive a terminal" {
	redis SET $'lock:\e[2J\n\xff' x PX 60000 >/dev/null
	redis SET 'lock:é' x PX 60000 >/dev/null
	printf '*3\r\n$3\r\nSET\r\n$8\r\nlock:a\0b\r\n$1\r\nx\r\n' | timeout 2 python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(sys.stdin.buffer.read())
assert s.recv(100) == b"+OK\r\n"' "$REDIS_SOCK"
	run -0 dlock --list
	[ "${#lines[@]}" -eq 2 ]
	[[ "${lines[0]}" == '\x1b[2J\x0a\xff  foreign  '* ]]
	[[ "${lines[1]}" == 'é                foreign  '* ]]
	run -0 dlock --json --list
	shown '[each["name"] for each in a] == ["\x1b[2J\n\\xff", "\xe9"]'
}

@test "--list: while locks come and go, those that stay are all shown" {
	fill 2000 lock:stays
	start bash -c 'while :; do for i in {1..200}; do echo "SET lock:goes$RANDOM x PX 50"; done | redis-cli -s "$REDIS_SOCK" >/dev/null; done'
	for _ in 1 2 3; do
		run -0 dlock --json --list
		shown 'len(set(each["name"] for each in a if each["name"].startswith("stays"))) == 2000'
		shown 'len(set(each["name"] for each in a)) == len(a)'
	done
}

@test "--list: another database has other locks" {
	redis SET lock:here x PX 60000 >/dev/null
	redis -n 1 SET lock:there x PX 60000 >/dev/null
	run -0 dlock -S "unix://$REDIS_SOCK?db=1" --list
	[ "${#lines[@]}" -eq 1 ]
	[[ "$output" == 'there '* ]]
}

@test "--list: a GLOB that is too long" {
	run -64 dlock --list "$(printf 'x%.0s' {1..2000})"
	[[ "$output" == 'dlock: --list: GLOB must have at most 1024 bytes'* ]]
}
