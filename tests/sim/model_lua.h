/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The interpreter that all models of the process share, with what Redis 7.0 lets a script see; for
 * model_script.c alone. */
#ifndef DLOCK_TESTS_MODEL_LUA_H
#define DLOCK_TESTS_MODEL_LUA_H

#include <lua5.1/lua.h>

#include "model_parts.h"

/* Made at the first call. */
lua_State *
lua_of_models(void);

/* A global array of strings: KEYS, ARGV. */
void
lua_set_array(lua_State *lua, const char *name, const struct word *words, size_t count);

/* Runs that function: its value is on top of the stack, or, with false, the error. */
bool
lua_run(struct model *model, int reference);

/* Answers the value on top of the stack, or the error, as Redis does. */
void
lua_answer_value(struct model *model, lua_State *lua);
void
lua_answer_failure(struct model *model, lua_State *lua, const char *sha1);

#endif
