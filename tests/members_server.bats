#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Shared locks and slots (SPEC.md section 7) at a server in trouble, and what they leave there.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154,SC2086 # `how` is an option and its value

load helpers/common
load helpers/shared

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() { shared_setup; }

@test "no memory left: 69 and nothing taken, but those that have it renew and give it back" {
	local how
	for how in -s '--slots 2'; do
		enter a $how -t 1s -k 100ms
		redis CONFIG SET maxmemory 1
		refused_with 69 OOM $how
		members_are 1
		wait_until 5s renewed a "$(expiry_of "$(token_of a)")"
		undisturbed a
		leave a
		free job
		refused_with 69 OOM $how
		free job
		redis CONFIG SET maxmemory 0
		no_trace
	done
}

@test "a read-only server: 69 and nothing taken" {
	redis REPLICAOF 127.0.0.1 1
	refused_with 69 READONLY -n -s
	refused_with 69 READONLY -n --slots 2
	redis REPLICAOF NO ONE
	[ "$(redis DBSIZE)" = 0 ]
}

@test "a sibling of another type: 69 and nothing taken, from a free lock and from one that is shared" {
	local how
	for how in -s '--slots 2'; do
		redis HSET "$(fence_key_of job)" a 1
		refused_with 69 . $how
		free job
		redis FLUSHALL
		# Members without a key above them count for nothing, whatever they are.
		redis HSET "$(members_key_of job)" a 1
		run -0 dlock $how job true
		no_trace
		redis FLUSHALL
	done
	enter a -s
	redis DEL "$(fence_key_of job)"
	redis HSET "$(fence_key_of job)" a 1
	refused_with 69 . -s
	members_are 1
	undisturbed a
	leave a
}

# --- keys ---

@test "every script names its keys, which are K and siblings, and no key is ever without expiry (R19 R27 P93)" {
	monitor
	watch_expiries
	enter a -s -t 1s -k 100ms
	enter b -s -t 1s -k 100ms
	conflict
	queue w -t 1s -k 100ms
	queue c --slots 2 -t 1s -k 100ms
	queue d --slots 2 -t 1s -k 100ms
	queue x -t 1s -k 100ms
	sleep 1 # they renew
	leave a
	leave b
	wait_until 2s is_in w
	leave w
	wait_until 2s all_in c d
	kill -TERM "${OUTERS[x]}"
	wait_until 2s gone "${OUTERS[x]}"
	leave c
	leave d
	run -0 dlock -s --at-least 200ms job true
	run -0 dlock --slots 2 --at-least 200ms -w 5 job true
	stop_watching
	declared_keys 20
	wait_until 2s free job
}

@test "info keeps no record of who has left, nor queue and members a name (R27)" {
	enter a -s
	for _ in {1..5}; do
		run -0 dlock -s job true
	done
	members_are 1
	[ "$(redis HKEYS "$(info_key_of job)")" = "$(token_of a)" ]
	leave a
	no_trace
}
