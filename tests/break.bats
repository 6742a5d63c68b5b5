#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# --break NAME: the lock is taken from its holder, and nobody has it before that one's command is dead.
#
# shellcheck disable=SC2016,SC2154 # dollars for another shell; output, lines, stderr are set by run

load helpers/common
load helpers/proxy
load helpers/sights

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL >/dev/null
}

# info_field NAME FIELD: the record there.
info_field() {
	redis HGET "$(info_key_of "$1")" "$2"
}

@test "--break: the holder's command is ended at its next renewal, and then the lock is free" {
	start_dlock --ttl 3s -k 500ms job sh -c 'trap "echo told >told; exit 0" TERM; sleep 97 & wait'
	wait_until 5s held job
	token=$(redis GET lock:job)
	run -0 dlock --break job
	[[ "$output" =~ ^"dlock: broke 'job', held by $(id -un)@$(uname -n) pid $OUTER sh, for "[0-9.]+"s, fence "[0-9]+": its command is ended at its next renewal; free in "[123]\.[0-9]"s at the latest"$ ]]
	[ "$(redis GET lock:job)" = "dlock!broken:$token" ]
	assert_between 1 3000 "$(redis PTTL lock:job)"
	run -75 dlock -n job true
	status=0
	wait "$OUTER" || status=$?
	[ "$status" -eq 79 ]
	[ -e told ]
	wait_until 5s free job
	run -0 dlock -n job true
}

@test "--break: who broke it is kept for the holder to say, in a record that expires" {
	start_dlock job sleep 97
	wait_until 5s held job
	token=$(redis GET lock:job)
	run -0 dlock --break job
	[[ "$(info_field job "dlock!broken:$token")" == *"host=$(uname -n)"*"user=$(id -un)"* ]]
	[[ "$(info_field job "$token")" == *"pid=$OUTER"* ]]
	[ "$(redis PTTL "$(info_key_of job)")" -gt 0 ]
	run -0 dlock --status job
	[[ "$output" =~ ^"job: broken by $(id -un)@$(uname -n) pid "[0-9]+" dlock, held by $(id -un)@$(uname -n) pid $OUTER sleep, for ".*"; free in "[0-9.]+"s at the latest"$ ]]
	run -0 dlock --json --status job
	shown "l['state'] == 'broken' and l['holders'][0]['state'] == 'broken' and l['holders'][0]['token'] == '$token'"
	shown "l['holders'][0]['broken_by']['host'] == '$(uname -n)' and l['holders'][0]['pid'] == $OUTER"
}

@test "--break: twice: the second says so, and prolongs nothing" {
	start_dlock job sleep 97
	wait_until 5s held job
	run -0 dlock --break job
	redis PEXPIRE lock:job 20000 >/dev/null
	run -0 dlock --break job
	[[ "$output" == "dlock: already broken: 'job', held by "*'s at the latest' ]]
	assert_between 1 20000 "$(redis PTTL lock:job)"
}

@test "--break: a lock that is free, by whatever: status 1 and a line; with -q none" {
	run -1 dlock --break job
	[ "$output" = "dlock: 'job' is free: there is nothing to break" ]
	run -1 dlock -q --break job
	[ -z "$output" ]
	make_members read 'dlock!shared' 0
	run -1 dlock --break read
	[[ "$output" == *"'read' is free"* ]]
}

@test "--break: -q says nothing of what went well" {
	start_dlock job sleep 97
	wait_until 5s held job
	run -0 dlock -q --break job
	[ -z "$output" ]
	[[ "$(redis GET lock:job)" == 'dlock!broken:'* ]]
}

@test "--break: a dead holder's lock stays taken until its lease is over" {
	start_dlock --ttl 2s job sleep 97
	wait_until 5s held job
	mapfile -t tree < <(descendants "$OUTER")
	# RUNNER first: who sees another die ends the run, and gives the lock back.
	kill -KILL "$(runner_of "$OUTER")"
	kill -KILL "$OUTER" "${tree[@]}" 2>/dev/null || true
	before=$(redis PTTL lock:job)
	run -0 dlock --break job
	assert_between 0 "$before" "$(redis PTTL lock:job)"
	run -0 dlock -w 10 job true
}

@test "--break: what --at-least keeps is free at once: nobody is alive under it" {
	run -0 dlock --at-least 60s job true
	run -0 dlock --break job
	[[ "$output" == "dlock: freed 'job': the command of "*' true, for '*' had ended' ]]
	free job
	[ "$(redis EXISTS "$(info_key_of job)")" -eq 0 ]
}

@test "--break: a foreign client's key is left alone: status 75, whatever -E says, and a line that names --force" {
	redis SET lock:plain abc PX 60000 >/dev/null
	redis HSET lock:hash a b >/dev/null
	run -75 dlock --break plain
	[[ "$output" == "dlock: 'plain' is held by an unknown client (token abc), which dlock cannot tell to stop: --force deletes the key at once"* ]]
	run -75 dlock -q --break hash
	[[ "$output" == "dlock: 'hash' is held by an unknown client (its key is of type hash), which "*'--force'* ]]
	[ "$(redis GET lock:plain)" = abc ]
	[ "$(redis HGET lock:hash a)" = b ]
}

@test "--break --force: whatever is there is deleted at once, and what that means is said" {
	redis SET lock:plain abc PX 60000 >/dev/null
	redis HSET lock:hash a b >/dev/null
	start_dlock job sleep 97
	wait_until 5s held job
	run -0 dlock --force --break plain
	[[ "$output" == "dlock: freed 'plain' at once, held by an unknown client (token abc), which may go on as if it still had it "* ]]
	run -0 dlock --force --break hash
	[[ "$output" == "dlock: freed 'hash' at once: an unknown client had it (its key was of type hash), which may go on "* ]]
	run -0 dlock --force --break job
	[[ "$output" == "dlock: freed 'job' at once, held by "*" pid $OUTER sleep, for "*': its command may still be running when another gets the lock' ]]
	[ "$(redis EXISTS lock:plain lock:hash lock:job)" -eq 0 ]
	run -1 dlock --force --break job
}

@test "--break --force: also what was broken already, and what --at-least keeps" {
	start_dlock job sleep 97
	wait_until 5s held job
	run -0 dlock --break job
	run -0 dlock --force --break job
	free job
	[ "$(redis EXISTS "$(info_key_of job)")" -eq 0 ]
	run -0 dlock --at-least 60s kept true
	run -0 dlock --force --break kept
	free kept
}

@test "--break --token: only that holder" {
	start_dlock job sleep 97
	wait_until 5s held job
	token=$(redis GET lock:job)
	run -1 dlock --token other --break job
	[ "$output" = "dlock: 'job' is not held by token 'other'" ]
	run -1 dlock --token other --force --break job
	[ "$(redis GET lock:job)" = "$token" ]
	run -0 dlock --token "$token" --break job
	[ "$(redis GET lock:job)" = "dlock!broken:$token" ]
	run -0 dlock --token "$token" --break job
	[[ "$output" == *'already broken'* ]]
	redis HSET lock:hash a b >/dev/null
	run -1 dlock --token x --force --break hash
	[ "$(redis EXISTS lock:hash)" -eq 1 ]
}

@test "--break: of slots all holders, or with --token one: their places stay taken until they expire" {
	make_members pool 'dlock!slots:4' 3
	score=$(redis ZSCORE "$(members_key_of pool)" m1)
	run -0 dlock --token m1 --break pool
	[[ "$output" =~ ^"dlock: broke slot 1 of 'pool', held by u@h1 pid 2 c, for 1m0"[0-9]"s, fence 2: "[^\;]*"; free in "5[0-9]\.[0-9]"s at the latest"$ ]]
	[ "$(redis ZSCORE "$(members_key_of pool)" 'dlock!broken:m1')" = "$score" ]
	[ "$(redis ZRANGE "$(members_key_of pool)" 0 -1 | sort | xargs)" = 'dlock!broken:m1 m0 m2' ]
	[[ "$(info_field pool 'dlock!broken:m1')" == *"host=$(uname -n)"* ]]
	run -0 dlock --break pool
	[ "${#lines[@]}" -eq 3 ]
	[ "$(grep -c 'dlock: broke slot' <<<"$output")" -eq 2 ]
	[ "$(grep -c "dlock: already broken: slot 1 of 'pool'" <<<"$output")" -eq 1 ]
	[ "$(redis ZRANGE "$(members_key_of pool)" 0 -1 | sort | xargs)" = 'dlock!broken:m0 dlock!broken:m1 dlock!broken:m2' ]
	[ "$(redis GET lock:pool)" = 'dlock!slots:4' ]
	run -0 dlock --json --status pool
	shown 'l["state"] == "slots" and [h["state"] for h in l["holders"]] == ["broken"] * 3'
}

@test "--break --force: of slots, and of a shared lock; with the last one the key is gone" {
	make_members pool 'dlock!slots:4' 2
	run -0 dlock --force --token m0 --break pool
	[[ "$output" == "dlock: freed slot 0 of 'pool' at once, held by u@h0 "* ]]
	[ "$(redis ZRANGE "$(members_key_of pool)" 0 -1)" = m1 ]
	[ "$(redis GET lock:pool)" = 'dlock!slots:4' ]
	run -0 dlock --force --break pool
	[ "$(redis EXISTS lock:pool "$(members_key_of pool)" "$(info_key_of pool)")" -eq 0 ]
}

@test "--break: 1,000 holders of a shared lock at once; twenty are named" {
	make_members read 'dlock!shared' 1000
	run -0 dlock --json --break read
	[ "$(grep -c '^dlock: broke ' <<<"$output")" -eq 20 ]
	[[ "$output" == *"dlock: and so for 980 more holders of 'read'"* ]]
	output=$(grep -v '^dlock: ' <<<"$output")
	shown 'l["taken"] == 1000 and 100 < len(l["taken_from"]) <= 1000 and len(l["holders"]) == 1000'
	shown 'l["result"] == "broken" and all(h["state"] == "broken" for h in l["holders"])'
}

@test "--break: those that wait get what was freed at once" {
	redis SET lock:job abc PX 60000 >/dev/null
	make_waiters job 2
	run -0 dlock --force --break job
	[ "$(redis GET lock:job)" = w1 ]
	[ "$(redis ZRANGE "$(queue_key_of job)" 0 -1)" = w2 ]
	assert_between 1 3000 "$(redis PTTL lock:job)"
}

@test "--break: a waiter has the lock when the holder's command is dead" {
	start_dlock --ttl 3s -k 500ms job sh -c 'echo $$ >first; trap "" TERM; while :; do sleep 0.1; done'
	wait_until 5s held job
	first=$OUTER
	wait_until 5s test -s first
	start_dlock job sh -c 'kill -0 "$(<first)" 2>/dev/null && echo both >both; echo second >second'
	wait_until 5s waits_for job "$OUTER"
	run -0 dlock --break job
	wait_until 10s test -e second
	[ ! -e both ]
	wait_until 5s gone "$first"
}

# waits_for NAME PID: that one is shown as a waiter.
waits_for() {
	dlock --status "$1" | grep -q "^  [0-9]*\. .* pid $2 "
}

@test "--break --json: the lock as it is afterwards, what was done, and to whom" {
	run -1 dlock --json --break job
	output=${lines[1]}
	shown 'l["state"] == "free" and l["result"] == "free" and l["taken"] == 0 and l["taken_from"] == []'
	redis SET lock:job abc PX 60000 >/dev/null
	run -75 --separate-stderr dlock --json --break job
	shown 'l["state"] == "foreign" and l["result"] == "foreign" and l["taken_from"] == []'
	run -0 --separate-stderr dlock --json --force --break job
	shown 'l["state"] == "free" and l["result"] == "freed" and l["taken"] == 1 and l["taken_from"][0]["token"] == "abc"'
	start_dlock job sleep 97
	wait_until 5s held job
	run -1 --separate-stderr dlock --json --token x --break job
	shown 'l["state"] == "held" and l["result"] == "no-such-token"'
	run -0 --separate-stderr dlock --json --break job
	shown "l['state'] == 'broken' and l['result'] == 'broken' and l['taken_from'][0]['pid'] == $OUTER"
	run -0 --separate-stderr dlock --json --break job
	shown 'l["result"] == "already-broken"'
}

@test "--break: a key without an expiry keeps having none, and that is said" {
	start_dlock job sleep 97
	wait_until 5s held job
	redis PERSIST lock:job >/dev/null
	run -0 dlock --break job
	[[ "$output" == *'its key has no expiry: if there is no renewal, --force frees it' ]]
}

@test "--break: a request that is held up on its way until nobody waits for it breaks nothing" {
	start_dlock job sleep 97
	wait_until 5s held job
	token=$(redis GET lock:job)
	start_proxy
	proxy on EVAL here keep
	run -69 dlock --break job
	[[ "$output" == "dlock: cannot break 'job' at redis://127.0.0.1:$PROXY_PORT: no answer in time; whether it has been broken is not known (--status says)" ]]
	before=$(scripts_run)
	proxy pass
	wait_until 5s more_scripts_than "$before"
	[ "$(redis GET lock:job)" = "$token" ]
}

more_scripts_than() {
	[ "$(scripts_run)" -gt "$1" ]
}
