#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Tests of the tree itself, on copies of it: other tests use this one at the same time.
#
#   load helpers/common; load helpers/copies
#   setup() { copies_setup; }
#
# shellcheck disable=SC2034 # variables are for common_teardown

copies_setup() {
	WORK=$BATS_TEST_TMPDIR
	TRACKED=$WORK/.tracked
	touch "$TRACKED"
	export DLOCK_TEST_MARK=$WORK
	cd "$WORK" || return 1
	# A make above this one must not hand its flags and jobs down.
	unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS LDFLAGS CPPFLAGS DESTDIR PREFIX WERROR DEPS
}

# copy_tree: what a build needs, in tree, which becomes the current directory.
copy_tree() {
	mkdir tree
	cp -R "$ROOT_DIR"/{Makefile,VERSION,src,scripts,man,completions,examples,.gitignore} tree
	mkdir tree/tests
	cp -R "$ROOT_DIR"/tests/{run,tools} tree/tests
	cd tree || return 1
}
