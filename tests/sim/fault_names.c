/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "faults.h"

const char *
fault_name(enum fault_kind kind)
{
	static const char *const names[FAULT_KINDS] = {
	    [FAULT_DELAY] = "delay",
	    [FAULT_LOSS] = "loss",
	    [FAULT_CUT] = "partition",
	    [FAULT_RESET] = "reset",
	    [FAULT_RESET_BEHIND] = "reset behind what is on its way",
	    [FAULT_BLACK_HOLE] = "connections die without a sign",
	    [FAULT_LOOKUPS_HANG] = "name look-ups hang",
	    [FAULT_CRASH] = "server crash, memory kept",
	    [FAULT_CRASH_SILENT] = "server crash without a word, memory kept",
	    [FAULT_CRASH_EMPTY] = "server crash, memory lost",
	    [FAULT_FREEZE] = "server stopped",
	    [FAULT_FAIL_OVER] = "failover losing the last writes",
	    [FAULT_FLUSH] = "FLUSHALL",
	    [FAULT_EVICT] = "eviction",
	    [FAULT_CLOCK_FORWARD] = "server clock set forward",
	    [FAULT_CLOCK_BACK] = "server clock set back",
	    [FAULT_SCRIPT_FLUSH] = "SCRIPT FLUSH",
	    [FAULT_FULL] = "server memory full",
	    [FAULT_READ_ONLY] = "server read-only",
	    [FAULT_BREAK] = "--break",
	    [FAULT_BREAK_FORCE] = "--break --force",
	    [FAULT_FOREIGN_SET] = "foreign SET",
	    [FAULT_FOREIGN_TAKE] = "foreign SET NX PX",
	    [FAULT_FOREIGN_DELETE] = "foreign DEL",
	    [FAULT_SUSPEND] = "machine suspended",
	    [FAULT_WALL_CLOCK] = "client clock set",
	    [FAULT_STOP_OUTER] = "OUTER stopped",
	    [FAULT_STOP_RUNNER] = "RUNNER stopped",
	    [FAULT_STOP_COMMAND] = "COMMAND stopped",
	    [FAULT_STOP_BOTH] = "OUTER and RUNNER stopped",
	    [FAULT_KILL_OUTER] = "OUTER killed",
	    [FAULT_KILL_RUNNER] = "RUNNER killed",
	    [FAULT_KILL_BOTH] = "OUTER and RUNNER killed",
	    [FAULT_KILL_COMMAND] = "COMMAND killed",
	    [FAULT_TERMINATE] = "dlock terminated",
	    [FAULT_DELAY_MIDDLE] = "process delayed in its work",
	    [FAULT_STOP_MIDDLE] = "process stopped in its work",
	    [FAULT_KILL_MIDDLE] = "process killed in its work",
	};
	return names[kind];
}
