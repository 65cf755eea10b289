divert(-1)
# The ANL (PARMACS) macros for weft. docs/parmacs.md says what they mean and how to build a program with them:
#   m4 -s parmacs.m4 program.C > program.c
#
# Macros are statements with their own braces, because programs write them with and without a semicolon; G_MALLOC and its like are
# expressions. What is optional in published programs is optional here. From here on m4 quotes with <{ and }>, which no C program has,
# and of m4's own macros a program can only use include and define.
changequote(<{,}>)

define(<{weft_ifelse}>, defn(<{ifelse}>))

# --- environment
define(<{weft_env}>, <{
#include <stdlib.h>
#include <unistd.h>
#include <sys/time.h>
#include <weft/parmacs.h>
#ifndef PAGE_SIZE
#define PAGE_SIZE 4096
#endif
}>)
define(<{MAIN_ENV}>, <{weft_env}>)
define(<{EXTERN_ENV}>, <{weft_env}>)
define(<{ENV}>, <{weft_env}>)
define(<{MAIN_INITENV}>, <{{weft_parmacs_begin();}}>)
define(<{MAIN_END}>, <{{exit(0);}}>)
define(<{CLOCK}>, <{{($1) = weft_parmacs_clock();}}>)

# --- start and end of workers: CREATE(function) or CREATE(function, workers)
define(<{CREATE}>,
  <{weft_ifelse(<{$2}>, <{}>, <{{weft_parmacs_create((void (*)(void))($1));}}>,
                              <{{weft_parmacs_create_all((void (*)(void))($1), (long)($2));}}>)}>)
define(<{WAIT_FOR_END}>, <{{weft_parmacs_wait_for_end((long)($1));}}>)

# --- memory: G_MALLOC(bytes) or G_MALLOC(bytes, home)
define(<{G_MALLOC}>,
  <{weft_parmacs_malloc((size_t)($1), weft_ifelse(<{$2}>, <{}>, <{(long)WEFT_PARMACS_ANYWHERE}>, <{(long)($2)}>))}>)
define(<{G_MALLOC_F}>, <{G_MALLOC(<{$1}>, <{$2}>)}>)
define(<{NU_MALLOC}>, <{G_MALLOC(<{$1}>, <{$2}>)}>)
define(<{NU_MALLOC_F}>, <{G_MALLOC(<{$1}>, <{$2}>)}>)
define(<{G_FREE}>, <{{weft_parmacs_free((void*)($1));}}>)
define(<{NU_FREE}>, <{{weft_parmacs_free((void*)($1));}}>)

# --- locks, and arrays of locks
define(<{weft_each}>, <{{long weft_i; for (weft_i = 0; weft_i < (long)($2); ++weft_i) $3(&($1)[weft_i]);}}>)
define(<{LOCKDEC}>, <{weft_parmacs_lock $1;}>)
define(<{LOCKINIT}>, <{{weft_parmacs_lock_init(&($1));}}>)
define(<{LOCK}>, <{{weft_parmacs_lock_take(&($1));}}>)
define(<{UNLOCK}>, <{{weft_parmacs_lock_give(&($1));}}>)
define(<{ALOCKDEC}>, <{weft_parmacs_lock $1[$2];}>)
define(<{ALOCKINIT}>, <{weft_each(<{$1}>, <{$2}>, <{weft_parmacs_lock_init}>)}>)
define(<{ALOCK}>, <{{weft_parmacs_lock_take(&($1)[$2]);}}>)
define(<{AULOCK}>, <{{weft_parmacs_lock_give(&($1)[$2]);}}>)
define(<{AUNLOCK}>, <{AULOCK(<{$1}>, <{$2}>)}>)
define(<{AGETL}>, <{(($1)[$2])}>)

# --- barriers
define(<{BARDEC}>, <{weft_parmacs_barrier $1;}>)
define(<{BARINIT}>, <{{weft_parmacs_barrier_init(&($1));}}>)
define(<{BARRIER}>, <{{weft_parmacs_barrier_wait(&($1), (long)($2));}}>)
define(<{BAREXCLUDE}>, <{{;}}>)
define(<{BARINCLUDE}>, <{{;}}>)

# --- events: one, or a set with a second argument: its size where it is declared and initialised, which of it elsewhere
define(<{weft_one}>, <{weft_ifelse(<{$2}>, <{}>, <{&($1)}>, <{&($1)[$2]}>)}>)
define(<{PAUSEDEC}>, <{weft_parmacs_pause $1<{}>weft_ifelse(<{$2}>, <{}>, <{}>, <{[$2]}>);}>)
define(<{PAUSEINIT}>, <{weft_ifelse(<{$2}>, <{}>, <{{weft_parmacs_pause_init(&($1));}}>,
                                                <{weft_each(<{$1}>, <{$2}>, <{weft_parmacs_pause_init}>)}>)}>)
define(<{SETPAUSE}>, <{{weft_parmacs_pause_set(weft_one(<{$1}>, <{$2}>));}}>)
define(<{CLEARPAUSE}>, <{{weft_parmacs_pause_clear(weft_one(<{$1}>, <{$2}>));}}>)
define(<{WAITPAUSE}>, <{{weft_parmacs_pause_wait(weft_one(<{$1}>, <{$2}>));}}>)
define(<{EVENT}>, <{SETPAUSE(<{$1}>, <{$2}>)}>)
define(<{PAUSE}>, <{WAITPAUSE(<{$1}>, <{$2}>)}>)

# --- subscripts that are dealt: GETSUB(set, subscript, last, workers)
define(<{GSDEC}>, <{weft_parmacs_subscripts $1;}>)
define(<{GSINIT}>, <{{weft_parmacs_subscripts_init(&($1));}}>)
define(<{GETSUB}>, <{{($2) = weft_parmacs_subscript(&($1), (long)($3), (long)($4));}}>)
define(<{NU_GSDEC}>, <{GSDEC(<{$1}>)}>)
define(<{NU_GSINIT}>, <{GSINIT(<{$1}>)}>)
define(<{NU_GETSUB}>, <{GETSUB(<{$1}>, <{$2}>, <{$3}>, <{$4}>)}>)

# --- condition variables
define(<{CONDVARDEC}>, <{weft_parmacs_condition $1;}>)
define(<{CONDVARINIT}>, <{{weft_parmacs_condition_init(&($1));}}>)
define(<{CONDVARWAIT}>, <{{weft_parmacs_condition_wait(&($1), &($2));}}>)
define(<{CONDVARSIGNAL}>, <{{weft_parmacs_condition_signal(&($1), 0);}}>)
define(<{CONDVARBCAST}>, <{{weft_parmacs_condition_signal(&($1), 1);}}>)

# --- fences
define(<{RELEASE_FENCE}>, <{{weft_parmacs_fence();}}>)
define(<{ACQUIRE_FENCE}>, <{{weft_parmacs_fence();}}>)
define(<{FULL_FENCE}>, <{{weft_parmacs_fence();}}>)

# --- marks for simulators and tracers
define(<{SPLASH3_ROI_BEGIN}>, <{{;}}>)
define(<{SPLASH3_ROI_END}>, <{{;}}>)
define(<{AUG_ON}>, <{}>)
define(<{AUG_OFF}>, <{}>)
define(<{TRACE_ON}>, <{}>)
define(<{TRACE_OFF}>, <{}>)
define(<{REF_TRACE_ON}>, <{}>)
define(<{REF_TRACE_OFF}>, <{}>)
define(<{DYN_TRACE_ON}>, <{;}>)
define(<{DYN_TRACE_OFF}>, <{;}>)
define(<{DYN_REF_TRACE_ON}>, <{;}>)
define(<{DYN_REF_TRACE_OFF}>, <{;}>)
define(<{DYN_SIM_ON}>, <{;}>)
define(<{DYN_SIM_OFF}>, <{;}>)
define(<{DYN_SCHED_ON}>, <{;}>)
define(<{DYN_SCHED_OFF}>, <{;}>)
define(<{AUG_SET_LOLIMIT}>, <{;}>)
define(<{AUG_SET_HILIMIT}>, <{;}>)
define(<{RESET_STATISTICS}>, <{{;}}>)

# --- words that are macros of m4 and names in C programs
undefine(<{builtin}>, <{changecom}>, <{changeword}>, <{debugfile}>, <{debugmode}>, <{decr}>, <{defn}>, <{divnum}>, <{dumpdef}>,
  <{errprint}>, <{esyscmd}>, <{eval}>, <{format}>, <{ifdef}>, <{ifelse}>, <{incr}>, <{index}>, <{indir}>, <{len}>, <{m4exit}>,
  <{m4wrap}>, <{maketemp}>, <{mkstemp}>, <{patsubst}>, <{popdef}>, <{pushdef}>, <{regexp}>, <{shift}>, <{sinclude}>, <{substr}>,
  <{symbols}>, <{syscmd}>, <{sysval}>, <{traceoff}>, <{traceon}>, <{translit}>, <{undivert}>, <{unix}>, <{__unix__}>, <{__gnu__}>,
  <{__file__}>, <{__line__}>, <{__program__}>, <{changequote}>)
divert(0)undefine(<{divert}>, <{dnl}>, <{undefine}>)
