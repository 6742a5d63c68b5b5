#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# --status NAME...: who holds a lock and who waits for it, for people and as JSON.
#
# shellcheck disable=SC2016,SC2026,SC2154 # dollars for another shell; output, lines, stderr are set by run

load helpers/common
load helpers/sights

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL >/dev/null
}

# hold NAME [OPTION]...: a dlock that has it.
hold() {
	start_dlock "${@:2}" "$1" sleep 97
	wait_until 5s held "$1"
}

key_exists() {
	[ "$(redis EXISTS "$1")" = 1 ]
}

@test "--status: a lock that is held names the holder and its fence, and when it expires; status 0" {
	hold job --label 'rack 4'
	run -0 --separate-stderr dlock --status job
	[[ "$output" =~ ^job:\ held\ by\ $(id -un)@$(uname -n)\ pid\ $OUTER\ sleep,\ for\ [0-9.]+s,\ label\ rack\ 4,\ fence\ $(redis GET "$(fence_key_of job)")\;\ expires\ in\ (29|30)\.[0-9]s$ ]]
	[ -z "$stderr" ]
}

@test "--status: a lock that is free: status 1; of several, one that is free is enough for that" {
	run -1 dlock --status job
	[ "$output" = 'job: free' ]
	hold job
	run -1 dlock --status job other
	[ "${#lines[@]}" -eq 2 ]
	[[ "${lines[0]}" == 'job: held by '* ]]
	[ "${lines[1]}" = 'other: free' ]
	hold other
	run -0 dlock --status other job
	[[ "${lines[0]}" == 'other: held by '* && "${lines[1]}" == 'job: held by '* ]]
}


@test "--status: a dead holder is named while its key lasts (P64)" {
	hold job
	mapfile -t tree < <(descendants "$OUTER")
	[ "${#tree[@]}" -eq 2 ]
	kill -KILL "$(runner_of "$OUTER")" # first: it would give the lock back
	kill -KILL "$OUTER" "${tree[@]}" 2>/dev/null || true
	wait_until 5s gone "$OUTER"
	run -0 dlock --status job
	[[ "$output" == "job: held by $(id -un)@$(uname -n) pid $OUTER sleep, for "*'; expires in '* ]]
	run -75 dlock -n job true
}

@test "--status --json: a lock that is held, with all that is known" {
	hold job --label 'rack 4'
	run -0 dlock --json --status job
	shown 'len(a) == 1 and l["name"] == "job" and l["key"] == "lock:job" and l["state"] == "held"'
	shown '25000 < l["ttl_ms"] <= 30000 and l["slots"] is None and l["type"] is None and l["waiters"] == []'
	shown "[(h['token'], h['fence'], h['pid']) for h in l['holders']] == [('$(redis GET lock:job)', '$(redis GET "$(fence_key_of job)")', $OUTER)]"
	shown "l['holders'][0]['host'] == '$(uname -n)' and l['holders'][0]['user'] == '$(id -un)'"
	shown 'l["holders"][0]["command"] == "sleep" and l["holders"][0]["label"] == "rack 4" and l["holders"][0]["state"] == "held"'
	shown '__import__("time").time() - __import__("datetime").datetime.fromisoformat(l["holders"][0]["since"][:-1] + "+00:00").timestamp() < 60'
}

@test "--status --json: locks that are free are objects too, in the order asked for" {
	hold job
	run -1 dlock --json --status free1 job free2
	shown '[each["name"] for each in a] == ["free1", "job", "free2"] and [each["state"] for each in a] == ["free", "held", "free"]'
	shown 'l["holders"] == [] and l["waiters"] == [] and l["ttl_ms"] is None'
}

@test "--status: what --at-least keeps" {
	run -0 dlock --at-least 60s job true
	run -0 dlock --status job
	[[ "$output" =~ ^'job: kept for another '5[0-9].[0-9]s', its command has ended: '.*@.*' pid '[0-9]+' true, for ' ]]
	run -0 dlock --json --status job
	shown 'l["state"] == "done" and 50000 < l["ttl_ms"] <= 60000 and l["holders"][0]["state"] == "done"'
	shown "'dlock!done:' + l['holders'][0]['token'] == '$(redis GET lock:job)'"
}

@test "--status: a foreign client's token, with and without an expiry, and a key of another type" {
	redis SET lock:plain abc >/dev/null
	redis SET lock:px abc PX 60000 >/dev/null
	redis HSET lock:hash a b >/dev/null
	run -0 dlock --status plain px hash
	[ "${lines[0]}" = 'plain: held by an unknown client (token abc); it has no expiry' ]
	[[ "${lines[1]}" =~ ^'px: held by an unknown client (token abc); expires in '5[0-9].[0-9]s$ ]]
	[ "${lines[2]}" = 'hash: held by an unknown client (its key is of type hash); it has no expiry' ]
	run -0 dlock --json --status plain px hash
	shown '[(each["state"], each["type"]) for each in a] == [("foreign", "string"), ("foreign", "string"), ("foreign", "hash")]'
	shown 'a[0]["holders"][0]["token"] == "abc" and a[0]["holders"][0]["host"] is None and a[2]["holders"] == []'
	shown 'a[0]["ttl_ms"] is None and 50000 < a[1]["ttl_ms"] <= 60000'
}

@test "--status: slots and shared holders have a line each; the dead are left out" {
	make_members pool 'dlock!slots:4' 3
	make_members read 'dlock!shared' 2
	redis ZADD "$(members_key_of pool)" 1 gone >/dev/null
	run -0 dlock --status pool read
	[ "${#lines[@]}" -eq 7 ]
	[[ "${lines[0]}" =~ ^'pool: 3 of 4 slots held; the last expires in '5[0-9].[0-9]s:$ ]]
	[[ "${lines[1]}" =~ ^'  slot 0: held by u@h0 pid 1 c, for 1m0'[0-9]'s, fence 1; expires in '5[0-9].[0-9]s$ ]]
	[[ "${lines[3]}" == '  slot 2: held by u@h2 pid 3 c, for '* ]]
	[[ "${lines[4]}" =~ ^'read: shared by 2; the last expires in '5[0-9].[0-9]s:$ ]]
	[[ "${lines[5]}" == '  held by u@h0 pid 1 c, for '* ]]
	run -0 dlock --json --status pool read
	shown '[each["state"] for each in a] == ["slots", "shared"] and [each["slots"] for each in a] == [4, None]'
	shown 'sorted((h["token"], h["slot"]) for h in l["holders"]) == [("m0", 0), ("m1", 1), ("m2", 2)]'
	shown '[h["slot"] for h in a[1]["holders"]] == [None, None] and 50000 < a[1]["ttl_ms"] <= 60000'
	shown 'l["holders"][0]["mode"] == "slots:4" and a[1]["holders"][0]["mode"] == "shared"'
}

@test "--status: a marker without living members is a free lock, whatever its own time" {
	redis SET lock:read 'dlock!shared' PX 60000 >/dev/null
	redis SET lock:pool 'dlock!slots:2' PX 60000 >/dev/null
	redis ZADD "$(members_key_of pool)" 1 gone >/dev/null
	run -1 dlock --status read pool
	[ "$output" = $'read: free\npool: free' ]
	[ "$(redis ZCARD "$(members_key_of pool)")" -eq 1 ] # it only looks
}

@test "--status: shared holders one of which has ended, and one of which was broken" {
	make_members read 'dlock!shared' 3
	redis EVAL "
		local members = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
		redis.call('DEL', KEYS[1])
		redis.call('ZADD', KEYS[1], members[2], 'dlock!done:m2', members[4], 'dlock!broken:m1', members[6], 'm0')
		redis.call('HSET', KEYS[2], 'dlock!broken:m1', 'host=web9\nuser=alice\npid=77\ncommand=dlock\n')" \
		2 "$(members_key_of read)" "$(info_key_of read)" >/dev/null
	run -0 dlock --status read
	[[ "${lines[3]}" =~ ^'  kept for another '5[0-9].[0-9]s', its command has ended: u@h2 pid 3 c, for ' ]]
	[[ "${lines[2]}" =~ ^'  broken by alice@web9 pid 77 dlock, held by u@h1 pid 2 c, for '.*'; free in '5[0-9].[0-9]s' at the latest'$ ]]
	[[ "${lines[1]}" == '  held by u@h0 pid 1 c, '* ]]
	run -0 dlock --json --status read
	shown '[(h["token"], h["state"]) for h in l["holders"]] == [("m0", "held"), ("m1", "broken"), ("m2", "done")]'
	shown 'l["holders"][1]["broken_by"] == {"host": "web9", "pid": 77, "user": "alice"}'
}

@test "--status: waiters in the order of arrival, with their ages (P82); the dead are left out" {
	hold job
	make_waiters job 3
	redis ZADD "$(queue_key_of job)" 1 norecord >/dev/null
	redis ZADD "$(queue_key_of job)" 2 silent >/dev/null
	redis HSET "$(info_key_of job)" silent $'host=h\nseen=1\npush=0\n' >/dev/null
	redis ZADD "$(queue_key_of job)" 3 cutoff >/dev/null
	redis HSET "$(info_key_of job)" cutoff $'host=h\nseen=9000000000000000\npush=1\n' >/dev/null
	run -0 dlock --status job
	[ "${#lines[@]}" -eq 4 ]
	[[ "${lines[0]}" == 'job: held by '*'; 3 waiting:' ]]
	[[ "${lines[1]}" =~ ^'  1. u@h1 pid 1 c, for 1m0'[0-9]s$ ]]
	[[ "${lines[3]}" == '  3. u@h3 pid 3 c, for 1m0'* ]]
	run -0 dlock --json --status job
	shown '[(w["token"], w["state"], w["pid"], w["mode"]) for w in l["waiters"]] == [("w%d" % i, "waiting", i, "exclusive") for i in (1, 2, 3)]'
	redis DEL lock:job >/dev/null
	run -1 dlock --status job
	[ "${lines[0]}" = 'job: free; 3 waiting:' ]
}

@test "--status: a waiter that was granted the lock and has not said that it knows" {
	make_waiters job 1
	redis SET lock:job w1 PX 3000 >/dev/null
	redis DEL "$(queue_key_of job)" >/dev/null
	run -0 dlock --status job
	[[ "$output" == 'job: granted to u@h1 pid 1 c, which has not confirmed it yet; expires in '* ]]
	run -0 dlock --json --status job
	shown 'l["state"] == "held" and l["holders"][0]["state"] == "granted" and l["holders"][0]["since"] is None'
}

@test "--status: 1,000 waiters, and 1,000 holders of a shared lock, are all shown, in order" {
	make_members read 'dlock!shared' 1000
	make_waiters read 1000
	run -0 dlock --status read
	[ "${#lines[@]}" -eq 2001 ]
	[[ "${lines[0]}" == 'read: shared by 1000; '*'; 1000 waiting:' ]]
	[ "$(printf '%s\n' "${lines[@]}" | grep -c '^  held by u@h')" -eq 1000 ]
	[[ "${lines[1001]}" == '  1. u@h1 '* && "${lines[2000]}" == '  1000. u@h1000 '* ]]
	run -0 dlock --json --status read
	shown '[w["token"] for w in l["waiters"]] == ["w%d" % i for i in range(1, 1001)]'
	shown 'sorted(h["pid"] for h in l["holders"]) == list(range(1, 1001))'
}

@test "--status: hundreds of holders that expire in the same millisecond are all shown, once" {
	make_members read 'dlock!shared' 500
	redis EVAL "for _, m in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
		redis.call('ZADD', KEYS[1], ARGV[1], m) end" 1 "$(members_key_of read)" $((($(date +%s) + 60) * 1000)) >/dev/null
	run -0 dlock --json --status read
	shown 'sorted(h["pid"] for h in l["holders"]) == list(range(1, 501))'
}

@test "--status: names, labels and values of any bytes cannot drive a terminal, and JSON is valid" {
	name=$'a\e]0;title\a"\\\xff\xc2\x9b31m \xc3\xa9\n'
	hold "$name" --label $'l\e[31m"\xfe\xe2\x80\xae'
	redis SET lock:f $'x\ry\e[2J\xff' >/dev/null
	run -0 dlock --status "$name" f
	[ "${#lines[@]}" -eq 2 ]
	[[ "${lines[0]}" == 'a\x1b]0;title\x07"\\xff\xc2\x9b31m é\x0a: held by '*', label l\x1b[31m"\xfe\xe2\x80\xae, '* ]]
	[ "${lines[1]}" = 'f: held by an unknown client (token x\x0dy\x1b[2J\xff); it has no expiry' ]
	run -0 dlock --json --status "$name" f
	shown 'l["name"] == "a\x1b]0;title\x07\"\\\\xff\x9b31m \xe9\n" and l["holders"][0]["label"] == "l\x1b[31m\"\\xfe\u202e"'
	shown 'a[1]["holders"][0]["token"] == "x\ry\x1b[2J\\xff"'
}

@test "--status: names of 512 bytes, the longest labels, a prefix" {
	permit_keys '*'
	name=$(printf 'n%.0s' {1..512})
	start_dlock --prefix 'some:where:' --label "$(printf 'l%.0s' {1..255})" "$name" sleep 97
	wait_until 5s key_exists "some:where:$name"
	run -0 dlock --prefix some:where: --status "$name"
	[[ "$output" == "$name: held by "*', label '*'; expires in '* ]]
	run -1 dlock --status "$name"
	[ "$output" = "$name: free" ]
	run -64 dlock --status "${name}n"
	[[ "$output" == *'NAME must have 1 to 512 bytes'* ]]
	run -64 dlock --status job "lock#fence{x}" 'a{'
}

@test "--status: a record that no dlock has written is taken for what it is" {
	redis SET lock:job tok PX 60000 >/dev/null
	redis HSET "$(info_key_of job)" tok "$(printf 'x%.0s' {1..3000})" >/dev/null
	run -0 dlock --json --status job
	shown 'l["state"] == "foreign"'
	redis HSET "$(info_key_of job)" tok $'pid=x\nsince=-5\nhost=\nfence=99999999999999999999999999\n=\n\n%' >/dev/null
	run -0 dlock --status job
	[[ "$output" == 'job: held by ?@? ?, fence 99999999999999999999999'* ]]
	redis DEL "$(info_key_of job)" >/dev/null
	redis SET "$(info_key_of job)" string >/dev/null
	redis SET "$(queue_key_of job)" string >/dev/null
	run -0 dlock --status job
	[[ "$output" == 'job: held by an unknown client (token tok); expires in '* ]]
}

@test "--status: a value of 100 kB is cut" {
	redis SET lock:job "$(printf 'v%.0s' {1..100000})" >/dev/null
	run -0 dlock --status job
	[ "${#output}" -lt 400 ]
	[[ "$output" == 'job: held by an unknown client (token vvvvvv'* ]]
}
