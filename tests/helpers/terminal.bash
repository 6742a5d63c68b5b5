#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# dlock under a terminal, with a user who types: tests/tools/ptyrun.
#
#   setup() { common_setup; redis FLUSHALL; terminal_setup; }
#
# The terminal shows what is typed: what is expected must not stand in a line that is sent, hence the
# scripts in files.
#
# shellcheck disable=SC2034 # variables are for the caller

# `sleeper`: says `up` and sleeps. For sh, not with dash where Ctrl-Z is typed: a stop that meets its
# vfork stops nobody, dlock or not.
terminal_setup() {
	printf 'echo up\nexec sleep 60\n' >sleeper
	export PS1='ready> ' HISTFILE='' TERM=dumb
}

# terminal ACTION... -- COMMAND...: ptyrun; what was on the screen is in $WORK/screen, how COMMAND
# ended in $how.
terminal() {
	start "$TOOLS/ptyrun" "$WORK/how" "$@" >screen 2>error
	exit_status_of "$STARTED" 60s
	[ "$STATUS" -eq 0 ] || fail "$(<error)"$'\n'"$(<screen)"
	how=$(<"$WORK/how")
}

# session ACTION...: the same with an interactive bash as COMMAND that is logged out at the end.
session() {
	terminal "expect:ready> " "$@" 'send:exit 0\n' end -- bash --norc --noprofile -i
	[ "$how" = 'exit 0' ] || fail "bash: $how"
}

# A line for sh that waits (5 s) for CONDITION, for ptyrun's run:.
until_true() {
	echo "run:i=0; until { $1; } 2>/dev/null; do i=\$((i+1)); [ \$i -lt 500 ] || exit 1; sleep 0.01; done"
}

LOCK_IS() {
	until_true "test \"\$(redis-cli -s '$REDIS_SOCK' EXISTS lock:job)\" = $1"
}

# shown TEXT: how often it was on the screen.
shown() {
	grep -oF -- "$1" screen | wc -l
}
