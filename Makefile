# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
#   make              ./dlock
#   make demo         see it work: needs nothing but Debian, make and git
#   make bench        how fast it is, beside what is used in its place
#   make check        everything a change must pass (minutes); check-long, fuzz: the hours
#   make torture      dlocks and real servers, killed, stopped, cut off, at random: docs/verification.md
#   make sim          many schedules of simulated dlocks, servers and faults: docs/verification.md
#   make deps         install, with apt-get, what the targets here need
#   make install      below PREFIX=/usr/local; each directory below has a variable, and DESTDIR= is
#                     put before all of them. uninstall takes it back
#   make deb          the Debian package, in build/deb
#   make matrix       the tests with the servers of other Debian releases: docs/matrix.md
#   make matrix-build dlock with the compilers, libraries and servers of other Debian releases: the same
#
# A build needs make, a C compiler, pkg-config, sed, hiredis, libuuid and the headers of OpenSSL, whose
# libraries a run loads for a server with TLS alone. CC, CPPFLAGS, CFLAGS, LDFLAGS and LDLIBS may be given and
# are added to what dlock needs. WERROR=1 makes warnings errors, V=1 shows the commands.

VERSION := $(shell cat VERSION)

PREFIX = /usr/local
BINDIR = $(PREFIX)/bin
# Where dlock.conf is looked for: compiled in, so give the same to `make` and `make install`.
SYSCONFDIR = /etc
MANDIR = $(PREFIX)/share/man
DOCDIR = $(PREFIX)/share/doc/dlock
BASHCOMPDIR = $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR = $(PREFIX)/share/zsh/site-functions
FISHCOMPDIR = $(PREFIX)/share/fish/vendor_completions.d
DESTDIR =

ifeq ($(origin CC),default)
CC = gcc
endif
CFLAGS ?= -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong
CLANG = clang
INSTALL = install
PKG_CONFIG = pkg-config
# Where everything built goes, and the product itself: `make lint` builds elsewhere with clang.
BUILD = build
PROGRAM = dlock

libraries = hiredis uuid
# Of these only the headers are needed: net/tls_library.c loads them when a server wants TLS.
loaded_libraries = libssl
# What pkg-config says is a system header: its warnings are not ours.
library_cflags := $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags $(libraries) $(loaded_libraries) 2>/dev/null))
# Timers and dlopen are in libraries of their own before glibc 2.34.
library_libs := $(shell $(PKG_CONFIG) --libs $(libraries) 2>/dev/null) -lrt -ldl

# ./dlock itself has the two libraries in it where the compiler finds their archives: each shared one is
# mapped into OUTER, RUNNER and what becomes COMMAND, which makes a run 6 % longer (make bench), and a
# dlock that is copied to another machine needs only the C library there. STATIC=no: shared ones, for distributions.
STATIC = yes
# archive -lNAME: -l:libNAME.a if there is one.
archive = $(if $(findstring /,$(shell $(CC) -print-file-name=lib$(1:-l%=%).a 2>/dev/null)),-l:lib$(1:-l%=%).a,$(1))
ifeq ($(STATIC),yes)
program_libs := $(foreach word,$(library_libs),$(if $(filter -lhiredis -luuid,$(word)),$(call archive,$(word)),$(word)))
else
program_libs = $(library_libs)
endif

# Symbols are looked up once and for all at the start: else OUTER, RUNNER and what becomes COMMAND would
# each look up the same ones, which takes longer (make bench).
start_flags = -Wl,-z,now
# What a run does not touch lies apart from what it does, as far as the linker can see to it: small variables
# together, not each between two large tables, and no tables for unwinding, which only C++ looks at while a
# program runs (debuggers have their own). A holder is a good 30 KiB smaller for it (PSS).
start_flags += -Wl,--sort-section=alignment
lean_cflags = -fdata-sections -fno-asynchronous-unwind-tables

warnings = -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wformat=2 -Wvla -Wswitch-enum -Wpointer-arith -Wwrite-strings -Wundef \
	-Wnull-dereference -Wdouble-promotion
ifeq ($(WERROR),1)
warnings += -Werror
endif

all_cppflags = -D_GNU_SOURCE -DDLOCK_VERSION='"$(VERSION)"' -DDLOCK_SYSCONFDIR='"$(SYSCONFDIR)"' \
	-Isrc -I$(BUILD)/gen \
	$(library_cflags) $(CPPFLAGS)
# Where the tree lies is kept out of the debugging information, so that two builds give the same
# bytes wherever they are made. (The compiler would take a path with links in it from PWD.)
export PWD := $(CURDIR)
all_cflags = -std=c11 $(warnings) -ffile-prefix-map='$(CURDIR)'=. -MMD -MP
sanitize = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1

ifeq ($(V),1)
say = @:
run =
else
say = @echo
run = @
endif

sources := $(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c))
# These are no scripts: others include them.
included_scripts = src/store/lua/queue.lua src/store/lua/holder.lua src/store/lua/describe.lua \
	src/store/lua/rfence.lua
scripts := $(sort $(filter-out $(included_scripts),$(wildcard src/store/lua/*.lua)))
tool_sources := $(wildcard tests/tools/*.c)
unit_sources := $(wildcard tests/unit/*_test.c)
# Helpers that unit tests share, say a fake store: linked with every one of them.
unit_helpers := $(filter-out $(unit_sources),$(wildcard tests/unit/*.c))
fuzz_sources := $(wildcard tests/fuzz/*_fuzz.c)
# A Redis in memory, which runs the scripts: of the tests alone, as the library is.
model_sources := $(wildcard tests/sim/model*.c) tests/sim/sha1.c
lua_libs = -llua5.1
# Compares it with a real one (tests/replay.bats).
replay_sources := $(wildcard tests/replay/*.c)

# The last of all is code that a run of COMMAND does not need.
rare_sources = $(filter src/view/% src/store/redis_query.c src/net/tls%,$(sources))
often_sources = $(filter-out $(rare_sources),$(sources))
plain_objects = $(often_sources:%.c=$(BUILD)/plain/%.o)
plain_rare_objects = $(rare_sources:%.c=$(BUILD)/plain/%.o)
# Of the test build those objects alone are its own whose source sees the switch.
tested := $(shell grep -lE 'DLOCK_TESTING|"run/testing\.h"' $(sources))
test_objects = $(tested:%.c=$(BUILD)/test/%.o) $(patsubst %.c,$(BUILD)/plain/%.o,$(filter-out $(tested),$(sources)))
asan_objects = $(sources:%.c=$(BUILD)/asan/%.o)
# An archive: the linker then reads what a test needs, not all there is.
unit_link = $(BUILD)/asan/unit.a
unit_parts = $(filter-out $(BUILD)/asan/src/main.o,$(asan_objects)) $(unit_helpers:%.c=$(BUILD)/asan/%.o)
# tests/tools/NAME_preload.c is a library for LD_PRELOAD, any other file there a program.
preloads = $(patsubst tests/tools/%.c,$(BUILD)/tools/%.so,$(filter %_preload.c,$(tool_sources)))
programs = $(patsubst tests/tools/%.c,$(BUILD)/tools/%,$(filter-out %_preload.c,$(tool_sources)))
benches = $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(wildcard tests/bench/*.c))
model_objects = $(patsubst tests/sim/%.c,$(BUILD)/sim/%.o,$(model_sources))
units = $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(unit_sources))
# The simulator: the real code but for main.c, linked with what stands in for the kernel and the servers.
# Without _FORTIFY_SOURCE, which gives functions of the C library other names.
sim_cflags = -O2 -g -U_FORTIFY_SOURCE
sim_wraps = $(foreach name,$(shell sed '/^\#/d' tests/sim/wrapped.list),-Wl,--wrap=$(name))
sim_objects = $(patsubst tests/sim/%.c,$(BUILD)/sim/%.o,$(filter-out tests/sim/replay%,$(wildcard tests/sim/*.c)))
sim_real = $(patsubst %.c,$(BUILD)/sim/%.o,$(filter-out src/main.c src/cli/% src/view/%,$(sources)))
sim_libs = $(library_libs) $(lua_libs)
# Planted bugs, one a file: the simulator with each of them.
sim_mutants = $(patsubst tests/sim/mutants/%.sed,$(BUILD)/sim/mutants/%/sim,$(wildcard tests/sim/mutants/*.sed))
# The sources with clang's counters in them.
fuzz_objects = $(patsubst %.c,$(BUILD)/fuzz/obj/%.o,$(filter-out src/main.c,$(sources)))
fuzz_programs = $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(fuzz_sources))

.PHONY: all print-flags objects tools unit fuzz-programs sims built check check-unit check-bats check-sanitized check-acl \
	check-fuzz check-sim check-long sim torture fuzz lint format \
	sanitize matrix matrix-build bench demo deps install uninstall deb dist clean
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

all: $(PROGRAM)

$(PROGRAM): $(plain_objects) $(plain_rare_objects)
	$(say) 'LINK $@'
	$(run)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(start_flags) $(plain_objects) $(program_libs) $(plain_rare_objects) $(program_libs) $(LDLIBS)

# The same sources with the switches that let a test turn a safety net off.
$(BUILD)/test/dlock: $(test_objects)
	$(say) 'LINK $@'
	$(run)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(start_flags) $(test_objects) $(program_libs) $(LDLIBS)

$(BUILD)/asan/dlock: $(asan_objects)
	$(say) 'LINK $@'
	$(run)$(CC) $(sanitize) $(LDFLAGS) -o $@ $(asan_objects) $(library_libs) $(LDLIBS)

# Headers that the build itself makes come first: the dependency files do not exist yet when a
# tree is built for the first time.
generated = $(BUILD)/gen/lua_scripts.h

$(BUILD)/plain/%.o: %.c $(BUILD)/flags | $(generated)
	@mkdir -p $(@D)
	$(say) 'CC   $@'
	$(run)$(CC) $(all_cppflags) $(all_cflags) $(lean_cflags) $(CFLAGS) -c -o $@ $<

$(BUILD)/test/%.o: %.c $(BUILD)/flags | $(generated)
	@mkdir -p $(@D)
	$(say) 'CC   $@'
	$(run)$(CC) $(all_cppflags) -DDLOCK_TESTING $(all_cflags) $(lean_cflags) $(CFLAGS) -c -o $@ $<

# -Wnull-dereference sees paths that only the sanitizers' own checks make.
$(BUILD)/asan/%.o: %.c $(BUILD)/flags | $(generated)
	@mkdir -p $(@D)
	$(say) 'CC   $@'
	$(run)$(CC) $(all_cppflags) $(all_cflags) -Wno-null-dereference $(sanitize) -c -o $@ $<

$(unit_link): $(unit_parts)
	$(say) 'AR   $@'
	$(run)rm -f $@ && $(AR) rcT $@ $^

$(BUILD)/unit/%: $(BUILD)/asan/tests/unit/%.o $(unit_link)
	@mkdir -p $(@D)
	$(say) 'LINK $@'
	$(run)$(CC) $(sanitize) $(LDFLAGS) -o $@ $^ $(library_libs) $(unit_libs) $(LDLIBS)

$(BUILD)/unit/model_test: $(model_sources:%.c=$(BUILD)/asan/%.o)
$(BUILD)/unit/model_test: unit_libs = $(lua_libs)

$(BUILD)/replay/%.o: tests/replay/%.c $(BUILD)/flags | $(generated)
	@mkdir -p $(@D)
	$(say) 'CC   $@'
	$(run)$(CC) $(all_cppflags) $(all_cflags) $(CFLAGS) -c -o $@ $<

$(BUILD)/replay/replay: $(replay_sources:tests/%.c=$(BUILD)/%.o) $(model_objects) $(BUILD)/plain/tests/unit/tap.o
	$(say) 'LINK $@'
	$(run)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(lua_libs) $(LDLIBS)

$(BUILD)/sim/%.o: tests/sim/%.c $(BUILD)/flags | $(generated)
	@mkdir -p $(@D)
	$(say) 'CC   $@'
	$(run)$(CC) $(all_cppflags) $(all_cflags) $(sim_cflags) -c -o $@ $<

$(BUILD)/sim/src/%.o: src/%.c $(BUILD)/flags | $(generated)
	@mkdir -p $(@D)
	$(say) 'CC   $@'
	$(run)$(CC) $(all_cppflags) $(all_cflags) $(sim_cflags) -c -o $@ $<

$(BUILD)/sim/real.a: $(sim_real)
	$(say) 'AR   $@'
	$(run)rm -f $@ && $(AR) rcT $@ $^

$(BUILD)/sim/sim: $(sim_objects) $(BUILD)/sim/real.a tests/sim/wrapped.list
	$(say) 'LINK $@'
	$(run)$(CC) $(sim_cflags) $(LDFLAGS) -o $@ $(sim_objects) $(BUILD)/sim/real.a $(sim_wraps) $(sim_libs) $(LDLIBS)

$(BUILD)/sim/mutants/%/sim: tests/sim/mutants/%.sed tests/sim/mutate $(BUILD)/sim/sim
	$(say) 'LINK $@'
	$(run)CC='$(CC)' SIM_FLAGS='$(subst ','\'',$(all_cppflags) -std=c11 $(sim_cflags))' tests/sim/mutate $* $(BUILD)
	$(run)$(CC) $(sim_cflags) $(LDFLAGS) -o $@ $(@D)/*.o $(filter-out %/faults.o,$(sim_objects)) $(BUILD)/sim/real.a $(sim_wraps) $(sim_libs) $(LDLIBS)

$(BUILD)/fuzz/obj/%.o: %.c $(BUILD)/flags | $(generated)
	@mkdir -p $(@D)
	$(say) 'CC   $@'
	$(run)$(CLANG) $(all_cppflags) $(all_cflags) $(sanitize) -fsanitize=fuzzer-no-link -c -o $@ $<

$(BUILD)/fuzz/%_fuzz: $(BUILD)/fuzz/obj/tests/fuzz/%_fuzz.o $(fuzz_objects)
	$(say) 'LINK $@'
	$(run)$(CLANG) $(sanitize) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(library_libs) $(LDLIBS)

$(BUILD)/tools/%.so: tests/tools/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) 'LINK $@'
	$(run)$(CC) $(all_cppflags) $(all_cflags) $(CFLAGS) -fPIC -shared $(LDFLAGS) -o $@ $< $(LDLIBS)

$(BUILD)/tools/%: tests/tools/%.c $(BUILD)/flags | $(generated)
	@mkdir -p $(@D)
	$(say) 'LINK $@'
	$(run)$(CC) $(all_cppflags) $(all_cflags) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS)

# What it compares with a server's answers is dlock's own.
$(BUILD)/tools/key_slots: $(addprefix $(BUILD)/plain/src/,base/keys.o base/problem.o store/cluster_slot.o)

$(BUILD)/bench/%: tests/bench/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) 'LINK $@'
	$(run)$(CC) $(all_cppflags) $(all_cflags) $(CFLAGS) $(LDFLAGS) $(bench_flags) -o $@ $< $(LDLIBS)

# What is measured is how soon a lock runs it, so it is to need as little time as can be.
$(BUILD)/bench/stamp: bench_flags = $(if $(findstring /,$(shell $(CC) -print-file-name=libc.a)),-static)

$(BUILD)/gen/lua_scripts.h: scripts/embed-lua $(scripts) $(included_scripts)
	@mkdir -p $(@D)
	$(say) 'GEN  $@'
	$(run)scripts/embed-lua $(scripts) >$@

# Changes only when a flag does, so that a build with other flags starts anew. It also says in one
# line, instead of in a page of compiler errors, that the libraries are not there.
flags_now = $(CC) $(all_cppflags) $(all_cflags) $(lean_cflags) $(CFLAGS) $(start_flags) $(program_libs) $(LDFLAGS) $(LDLIBS)
$(BUILD)/flags: force
	@{ command -v $(firstword $(CC)) && $(PKG_CONFIG) --exists $(libraries) $(loaded_libraries); } >/dev/null 2>&1 || { \
		echo "dlock needs a C compiler, pkg-config and the development files of:" \
			"$(libraries) $(loaded_libraries) ('make deps' installs them)" >&2; exit 1; }
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(flags_now))' | cmp -s - $@ || \
		echo '$(subst ','\'',$(flags_now))' >$@
.PHONY: force

tools: $(programs) $(preloads) $(benches)
unit: $(units)
objects: $(plain_objects) $(plain_rare_objects)
fuzz-programs: $(fuzz_programs)
sims: $(BUILD)/sim/sim $(sim_mutants)
built: $(PROGRAM) $(BUILD)/test/dlock $(BUILD)/asan/dlock tools unit fuzz-programs sims \
	$(BUILD)/replay/replay
sanitize: $(BUILD)/asan/dlock

# What follows starts make a second time where packages may just have been installed: this make
# has asked pkg-config already.
jobs = -j$(shell nproc 2>/dev/null || echo 2)
make_built = $(MAKE) --no-print-directory $(jobs) WERROR=1 built

deps:
	@scripts/deps install build check demo deb

check:
	@scripts/deps ensure build check
	@$(make_built)
	@tests/run lint fuzz sim unit bats sanitized acl

check-unit:
	@scripts/deps ensure build check
	@$(MAKE) --no-print-directory $(jobs) WERROR=1 unit
	@tests/run unit

check-bats:
	@scripts/deps ensure build check
	@$(make_built)
	@tests/run bats

check-sanitized:
	@scripts/deps ensure build check
	@$(make_built)
	@tests/run sanitized

check-acl:
	@scripts/deps ensure build check
	@$(make_built)
	@tests/run acl

check-fuzz:
	@scripts/deps ensure build check
	@$(MAKE) --no-print-directory $(jobs) WERROR=1 fuzz-programs
	@tests/run fuzz

# SEED=N: that one schedule, told step by step. SCHEDULES: how many; the floors are for 100,000 and more.
SCHEDULES ?= 100000
sim:
	@scripts/deps ensure build check
	@$(MAKE) --no-print-directory $(jobs) WERROR=1 $(BUILD)/sim/sim
	@$(if $(SEED),$(BUILD)/sim/sim seed $(SEED),$(BUILD)/sim/sim run $(jobs) -f $(if $(FLOOR),$(FLOOR),1000) $(SCHEDULES) $(FIRST))

check-sim:
	@scripts/deps ensure build check
	@$(MAKE) --no-print-directory $(jobs) WERROR=1 sims
	@tests/run sim

# For hours: each target for FUZZ_SECONDS, one a processor. What they find worth trying is kept in
# build/fuzz/corpus for the next time; the tree is left alone (scripts/fuzz says how to add to it).
FUZZ_SECONDS ?= 600
fuzz:
	@scripts/deps ensure build check
	@$(MAKE) --no-print-directory $(jobs) WERROR=1 fuzz-programs
	@FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_KEEP=yes tests/run fuzz

check-long:
	@scripts/deps ensure build check deb
	@$(make_built)
	@tests/run long

# A quarter of an hour. SEED=N: that run's faults again; ROUNDS="single redlock-3", TORTURE_SECONDS=10 (each): less.
torture:
	@scripts/deps ensure build check
	@$(make_built)
	@tests/torture/torture $(if $(SEED),--seed $(SEED)) $(if $(TORTURE_SECONDS),--seconds $(TORTURE_SECONDS)) \
		--least $(if $(ROUNDS)$(TORTURE_SECONDS),1,10000) $(ROUNDS)

# The flags that clang-tidy needs to read the sources.
print-flags:
	@echo '$(subst ','\'',$(all_cppflags) -std=c11 $(warnings))'

lint:
	@scripts/deps ensure build check
	@scripts/lint

format:
	@scripts/deps ensure build check
	clang-format -i $(wildcard src/*.[ch] src/*/*.[ch] src/*/*/*.[ch] tests/*/*.[ch])

bench:
	@scripts/deps ensure build bench
	@$(MAKE) --no-print-directory -s $(jobs) $(PROGRAM) $(benches)
	@tests/bench/run

# SERVERS=trixie-valkey: that alone. The servers are kept in MATRIX_CACHE, outside of the tree.
matrix:
	@scripts/deps ensure build check
	@$(make_built)
	@scripts/matrix $(SERVERS)

# Needs no package here: it unpacks those of other Debian releases below $(BUILD)/matrix.
matrix-build:
	@scripts/matrix-build $(SUITES)

demo:
	@scripts/deps ensure build demo
	@$(MAKE) --no-print-directory $(jobs) $(PROGRAM)
	@scripts/demo

# $(call install_file,FILE,DIRECTORY,NAME,MODE)
install_file = $(INSTALL) -d "$(DESTDIR)$(2)" && $(INSTALL) -m $(4) $(1) "$(DESTDIR)$(2)/$(3)"

# The manual of this build: it names the dlock.conf that this build reads.
$(BUILD)/man/dlock.1: man/dlock.1 $(BUILD)/flags
	@mkdir -p $(@D)
	$(run)sed 's|/etc/dlock\.conf|$(SYSCONFDIR)/dlock.conf|g' man/dlock.1 >$@

install: $(PROGRAM) $(BUILD)/man/dlock.1
	$(call install_file,$(PROGRAM),$(BINDIR),dlock,755)
	$(call install_file,$(BUILD)/man/dlock.1,$(MANDIR)/man1,dlock.1,644)
	$(call install_file,examples/dlock.conf,$(DOCDIR)/examples,dlock.conf,644)
	$(call install_file,completions/dlock.bash,$(BASHCOMPDIR),dlock,644)
	$(call install_file,completions/_dlock,$(ZSHCOMPDIR),_dlock,644)
	$(call install_file,completions/dlock.fish,$(FISHCOMPDIR),dlock.fish,644)

# dlock.conf itself is its owner's: neither written nor removed.
uninstall:
	rm -f "$(DESTDIR)$(BINDIR)/dlock" "$(DESTDIR)$(MANDIR)/man1/dlock.1" \
		"$(DESTDIR)$(DOCDIR)/examples/dlock.conf" "$(DESTDIR)$(BASHCOMPDIR)/dlock" \
		"$(DESTDIR)$(ZSHCOMPDIR)/_dlock" "$(DESTDIR)$(FISHCOMPDIR)/dlock.fish"
	-@rmdir "$(DESTDIR)$(DOCDIR)/examples" "$(DESTDIR)$(DOCDIR)" 2>/dev/null || :

# The Debian package, in $(BUILD)/deb.
deb:
	@scripts/deps ensure build deb
	@scripts/make-deb

dist:
	@mkdir -p $(BUILD)
	git archive --format=tar.gz --prefix=dlock-$(VERSION)/ -o $(BUILD)/dlock-$(VERSION).tar.gz HEAD

clean:
	rm -rf $(BUILD) $(PROGRAM)

-include $(shell find $(foreach kind,plain test asan unit tools bench fuzz sim replay,$(BUILD)/$(kind)) -type f -name '*.d' 2>/dev/null)
