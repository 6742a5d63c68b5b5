#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The simulator's Redis (tests/sim/model*) beside the real one (tests/replay), on a server whose clock is
# the replay's. A flaw is a change of one file of the model, FILE@@TEXT@@REPLACEMENT, where the text is once; what
# the replay must notice.
#
# shellcheck disable=SC2034,SC2154 # variables are for the caller, or from bats

MODEL_FLAWS=(
	"model_lua.c@@(command->flags & IS_WRITE) || model->script_wrote@@(command->flags & IS_WRITE)"
	"model_channels.c@@count += find(model->clients[i], which, at, length) != NULL@@count += 1"
	"model_dispatch.c@@client->queue_is_bad = true@@client->queue_is_bad = false"
	"model_lua.c@@lua_replace(lua, -2);@@lua_pop(lua, 1);"
)
# What `make check-long` has time for.
MORE_MODEL_FLAWS=(
	"model_keys.c@@model->now_ms > entry->expires_ms@@model->now_ms >= entry->expires_ms"
	"model_zsets.c@@range->beyond_most ? score >= range->most@@range->beyond_most ? score > range->most"
	"model_strings.c@@if (!options.keeps_ttl)@@if (true)"
	"model_strings.c@@(options.if_absent && entry != NULL)@@false"
	"model_dispatch.c@@model->is_replica && (flags & IS_WRITE)@@false"
	"model_items.c@@if (order > 0 ||@@if (order < 0 ||"
	"model_lua.c@@where.currentline@@where.currentline + 1"
	"model_track.c@@(reader->no_loop && reader == model->current)@@false"
	"model_track.c@@if (reader == model->current)@@if (false)"
	"model_track.c@@client->opts_in && !client->is_caching@@false"
	"model_bytes.c@@\"%.17g\"@@\"%.16g\""
	"model_bytes.c@@(word->at[at] == '0' && (is_negative || word->length > 1))@@false"
	"model_lua_answer.c@@(int64_t)number@@(int64_t)(number + 0.5)"
	"model_hashes.c@@if (entry->count == 0)@@if (false)"
	"model_dispatch.c@@(client->queues && command->run != run_exec@@(false && command->run != run_exec"
	"model_script.c@@model->known.at[i] &&@@"
	"model_generic.c@@if (when <= model->now_ms)@@if (when < model->now_ms)"
	"model_session.c@@request->client->is_closed = true;@@"
	"model_zsets.c@@adding.counts_changes ?@@true ?"
)

is_server_of_model() {
	server_has 7.0 && [[ $SERVER_PRODUCT = Redis && $SERVER_VERSION = 7.0.* ]]
}

# In setup. (Not in setup_file: what a file's teardown does then counts as a failure, in bats 1.8.)
needs_server_of_model() {
	is_server_of_model || skip "the model is a Redis 7.0"
}

start_replay_server() {
	is_server_of_model || return 0
	export SERVER_CLOCK=$BATS_FILE_TMPDIR/clock
	echo true >"$SERVER_CLOCK"
	LD_PRELOAD=$TOOLS/server_clock_preload.so start_redis --port 0
}

# replay [STEPS [SEED]]: with the model of this tree, or that of put_model_flaw.
replay() {
	"${REPLAY:-$ROOT_DIR/build/replay/replay}" "$REDIS_SOCK" "$SERVER_CLOCK" "$@"
}

# put_model_flaw FLAW: REPLAY is a replay with a model that has this flaw.
put_model_flaw() {
	local file=${1%%@@*} text=${1#*@@} object objects=()
	FLAW_TEXT=${text%@@*} FLAW_REPLACEMENT=${text#*@@} python3 - "$ROOT_DIR/tests/sim/$file" \
		>"$WORK/$file" <<-'END' || return
		import os, sys
		source = open(sys.argv[1]).read()
		text = os.environ["FLAW_TEXT"]
		if source.count(text) != 1:
		    sys.exit("%s has not once: %s" % (sys.argv[1], text))
		sys.stdout.write(source.replace(text, os.environ["FLAW_REPLACEMENT"]))
	END
	gcc -std=c11 -O1 -D_GNU_SOURCE -I"$ROOT_DIR/tests/sim" -I"$ROOT_DIR/src" -I"$ROOT_DIR/build/gen" -c \
		-o "$WORK/flawed.o" "$WORK/$file" || return
	for object in "$ROOT_DIR"/build/replay/*.o "$ROOT_DIR"/build/sim/{model*,sha1}.o; do
		[ "${object##*/}" = "${file%.c}.o" ] || objects+=("$object")
	done
	REPLAY=$WORK/replay
	gcc -o "$REPLAY" "$WORK/flawed.o" "${objects[@]}" "$ROOT_DIR/build/plain/tests/unit/tap.o" -llua5.1
}

# assert_model_flaws_found FLAW...: the replay notices each of them.
assert_model_flaws_found() {
	local flaw
	for flaw; do
		put_model_flaw "$flaw"
		run replay 100000
		[ "$status" -eq 1 ] || fail "not found: $flaw: $output"
		assert_line --regexp '^seed [0-9]+: server and model differ$'
		echo "$flaw: ${lines[0]}"
	done
}

# replay_reached WORD...: has the replay in $output got each of these answers, SCRIPT KIND?
replay_reached() {
	local what
	for what; do
		grep -qE "^${what% *} ${what#* }=[0-9]+$" <<<"$output" || fail "never: $what"
	done
}
