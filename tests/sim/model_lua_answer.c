/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* From what a script returns, or fails with, to an answer. */
#include <lua5.1/lua.h>

#include "model_lua.h"

/* As the compiler's conversion is on a PC, also where C leaves it open. */
static int64_t
to_integer(double number)
{
	return number >= -9223372036854775808.0 && number < 9223372036854775808.0 ? (int64_t)number
										  : INT64_MIN;
}

/* Is there a field of that name that is a text? It is left on top of the stack. */
static bool
has_text(lua_State *lua, const char *name)
{
	lua_pushstring(lua, name);
	lua_rawget(lua, -2);
	if (lua_type(lua, -1) == LUA_TSTRING)
		return true;
	lua_pop(lua, 1);
	return false;
}

static void
answer_items(struct model *model, lua_State *lua)
{
	size_t count = 0;
	for (;; count++) {
		lua_rawgeti(lua, -1, (int)count + 1);
		bool is_end = lua_type(lua, -1) == LUA_TNIL;
		lua_pop(lua, 1);
		if (is_end)
			break;
	}
	answer_array(model, count);
	for (size_t i = 0; i < count; i++) {
		lua_rawgeti(lua, -1, (int)i + 1);
		lua_answer_value(model, lua);
	}
}

void
lua_answer_value(struct model *model, lua_State *lua)
{
	size_t length;
	const char *text;
	if (!lua_checkstack(lua, 4)) {
		answer_error(model, "ERR reached lua stack limit");
		lua_pop(lua, 1);
		return;
	}
	switch (lua_type(lua, -1)) {
	case LUA_TSTRING:
		text = lua_tolstring(lua, -1, &length);
		answer_text(model, text, length);
		break;
	case LUA_TNUMBER:
		answer_integer(model, to_integer(lua_tonumber(lua, -1)));
		break;
	case LUA_TBOOLEAN:
		if (lua_toboolean(lua, -1))
			answer_integer(model, 1);
		else
			answer_nil(model);
		break;
	case LUA_TTABLE:
		if (has_text(lua, "err")) {
			answer_error(model, "%s", lua_tostring(lua, -1));
			lua_pop(lua, 1);
		} else if (has_text(lua, "ok")) {
			answer_status(model, lua_tostring(lua, -1));
			lua_pop(lua, 1);
		} else {
			answer_items(model, lua);
		}
		break;
	default:
		answer_nil(model);
	}
	lua_pop(lua, 1);
}

void
lua_answer_failure(struct model *model, lua_State *lua, const char *sha1)
{
	lua_getfield(lua, -1, "err");
	lua_getfield(lua, -2, "source");
	lua_getfield(lua, -3, "line");
	if (lua_isstring(lua, -1) && lua_isstring(lua, -2))
		answer_error(model, "%s script: %s, on %s:%s.", lua_tostring(lua, -3), sha1,
		    lua_tostring(lua, -2), lua_tostring(lua, -1));
	else
		answer_error(model, "%s", lua_tostring(lua, -3));
	lua_pop(lua, 4);
}
