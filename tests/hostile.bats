#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Each kind of hostility at each step of the login. Whatever comes, dlock ends in time, uses little
# memory, says one line that drives no terminal, and never takes it for a yes.
#
# shellcheck disable=SC2016,SC2034,SC2153,SC2154

load helpers/common
load helpers/hostile

# An answer that is the right one at that step, or does not matter.
is_harmless() {
	case $STEP/$1 in
	auth/ok | select/ok | setname/ok) return 0 ;;
	setname/error-that-drives-a-terminal | setname/error-of-16-kilobytes) return 0 ;;
	esac
	return 1
}

check_refused() {
	if is_harmless "$1"; then
		[ "$2" -eq 0 ] && [ -e "$1/ran" ] || echo "status $2, though that does no harm"
		says "$1" 0
		return
	fi
	[ "$2" -eq 69 ] || echo "status $2"
	[ ! -e "$1/ran" ] || echo "COMMAND ran"
	# --connect-timeout, and a busy machine.
	[ "$3" -le 1500 ] || echo "took $3 ms"
	says "$1" 1
	[[ $1 != web-server || $err == *'a web server answers there'* ]] || echo "who answers is not said"
}

@test "hostile from the first byte on: 69 in time, one line, little memory, COMMAND never runs" {
	serve connect
	assault check_refused job touch ran
}

@test "hostile in the place of the answer to AUTH: 69 likewise" {
	serve auth
	assault check_refused job touch ran
}

@test "hostile in the place of the answer to SELECT: 69 likewise" {
	serve select
	assault check_refused job touch ran
}

@test "hostile in the place of the answer to CLIENT SETNAME: 69, but for an error, which does not matter" {
	serve setname
	assault check_refused job touch ran
}

@test "hostile in the place of the answer to TIME: 69 likewise" {
	serve time
	assault check_refused job touch ran
}
