"""The native thread pool as LLVM text. `pool.py` loads it; `naiad_pool_run` is what launchers call.

How a launch goes: the caller takes `busy` (or runs everything itself: another launch, or one that this is nested in,
has the pool), writes the job, opens it, and takes chunks itself like any worker. `state` holds a bit "open" and twice
the number of workers that are in. When no chunk is left the caller closes the job and waits only for workers that are
in: one that was never scheduled is not waited for, so a launch on a busy machine costs no more than doing it all alone.

The programs are cut into chunks and these into a range for each thread, the same from launch to launch, so that a
thread finds what it touched last time in its core's cache. Who is done with its own range takes chunks of the others'.

Workers spin for `spins` pauses after a job, then sleep. Waking is a tree: the caller wakes two, and so does each worker
that joins while ranges are left, so a small launch on a machine with many cores does not wake them all.
Workers are started by the first launch that needs them, and again in a child after fork (`naiad_pool_reset`).
"""

PAUSE = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}
SIG_SETMASK, DETACHED = 2, 1  # Linux
MAX_RANGES = 1024
LEFT_OPEN = (4, 7, 8, 11)  # SIGILL, SIGBUS, SIGFPE, SIGSEGV: a crash in a worker is reported as anywhere

JOB = """
@generation = internal global i64 0, align 64    ; counts jobs
@state = internal global i64 0, align 64         ; bit 0: open; the rest: 2 * workers that are in
@job = internal global i64 0, align 64           ; the job: its number, one more than the last,
@programs = internal global i64 0                ; so many programs,
@chunk = internal global i64 0                   ; in chunks of so many,
@chunks = internal global i64 0                  ; which are so many,
@ranges = internal global i64 0                  ; in so many ranges; a chunk is run by
@kernel = internal global ptr null               ; kernel(begin, end, arguments)
@arguments = internal global ptr null
@helpers = internal global i64 0, align 64       ; threads that have joined the job
@taken = internal global [MAX_RANGES x [8 x i64]] zeroinitializer, align 64  ; a range: its job << 16 | chunks taken
@busy = internal global i64 0, align 64          ; a launch has the pool
@sleeping = internal global i64 0, align 64
@started = internal global i64 0, align 64       ; workers that exist
@threads = internal global i64 1, align 64       ; workers wanted, and the caller
@spins = internal global i64 1000
@mutex = internal global [64 x i8] zeroinitializer, align 64
@condition = internal global [64 x i8] zeroinitializer, align 64
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_setdetachstate(ptr, i32)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sigdelset(ptr, i32)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @sched_yield()
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; Takes chunks until none is left: first those of the thread's own range, then those of the next ones. The counter of a
; range that no job has touched since says so by its number, so a launch need not reset any.
define internal void @take_chunks(i64 %self) noinline {
entry:
  %job = load i64, ptr @job
  %tag = shl i64 %job, 16
  %programs = load i64, ptr @programs
  %chunk = load i64, ptr @chunk
  %chunks = load i64, ptr @chunks
  %ranges = load i64, ptr @ranges
  %kernel = load ptr, ptr @kernel
  %arguments = load ptr, ptr @arguments
  %own = urem i64 %self, %ranges
  br label %range
range:
  %n = phi i64 [ 0, %entry ], [ %n1, %next_range ]
  %r = phi i64 [ %own, %entry ], [ %following, %next_range ]
  %counter = getelementptr [8 x i64], ptr @taken, i64 %r
  %low = mul i64 %r, %chunks
  %first = udiv i64 %low, %ranges
  %high = add i64 %low, %chunks
  %last = udiv i64 %high, %ranges
  %size = sub i64 %last, %first
  br label %look
look:
  %seen = load atomic i64, ptr %counter monotonic, align 8
  %seen_tag = and i64 %seen, -65536
  %current = icmp eq i64 %seen_tag, %tag
  br i1 %current, label %maybe, label %open
open:                                   ; the first to come takes chunk 0
  %opened = or i64 %tag, 1
  %swap = cmpxchg ptr %counter, i64 %seen, i64 %opened monotonic monotonic
  %mine = extractvalue { i64, i1 } %swap, 1
  br i1 %mine, label %work, label %look
maybe:
  %seen_count = and i64 %seen, 65535
  %some = icmp ult i64 %seen_count, %size
  br i1 %some, label %take, label %next_range
take:
  %before = atomicrmw add ptr %counter, i64 1 monotonic
  %count = and i64 %before, 65535
  %left = icmp ult i64 %count, %size
  br i1 %left, label %work, label %next_range
work:
  %index = phi i64 [ 0, %open ], [ %count, %take ]
  %place = add i64 %first, %index
  %begin = mul i64 %place, %chunk
  %far = add i64 %begin, %chunk
  %whole = icmp slt i64 %far, %programs
  %end = select i1 %whole, i64 %far, i64 %programs
  call void %kernel(i64 %begin, i64 %end, ptr %arguments)
  br label %look
next_range:
  %n1 = add i64 %n, 1
  %r1 = add i64 %r, 1
  %wraps = icmp eq i64 %r1, %ranges
  %following = select i1 %wraps, i64 0, i64 %r1
  %more = icmp ult i64 %n1, %ranges
  br i1 %more, label %range, label %done
done:
  ret void
}

define internal void @wake_two() noinline {
  %asleep = load atomic i64, ptr @sleeping seq_cst, align 8
  %none = icmp eq i64 %asleep, 0
  br i1 %none, label %done, label %signal
signal:                                 ; once the mutex was ours, whoever had not seen the new job is waiting
  %l = call i32 @pthread_mutex_lock(ptr @mutex)
  %u = call i32 @pthread_mutex_unlock(ptr @mutex)
  %s1 = call i32 @pthread_cond_signal(ptr @condition)
  %s2 = call i32 @pthread_cond_signal(ptr @condition)
  br label %done
done:
  ret void
}
"""

WORKER = """
define internal ptr @worker(ptr %number) {
entry:
  %self = ptrtoint ptr %number to i64
  br label %idle
idle:
  %seen = phi i64 [ 0, %entry ], [ %job, %leave ]
  %spins = load i64, ptr @spins
  br label %spin
spin:
  %n = phi i64 [ 0, %idle ], [ %n1, %wait ]
  %g1 = load atomic i64, ptr @generation acquire, align 8
  %new1 = icmp ne i64 %g1, %seen
  br i1 %new1, label %enter, label %wait
wait:
  PAUSE
  %n1 = add i64 %n, 1
  %more = icmp slt i64 %n1, %spins
  br i1 %more, label %spin, label %lie_down
lie_down:
  %l = call i32 @pthread_mutex_lock(ptr @mutex)
  %s = atomicrmw add ptr @sleeping, i64 1 seq_cst
  br label %check
check:
  %g2 = load atomic i64, ptr @generation seq_cst, align 8
  %new2 = icmp ne i64 %g2, %seen
  br i1 %new2, label %get_up, label %sleep
sleep:
  %w = call i32 @pthread_cond_wait(ptr @condition, ptr @mutex)
  br label %check
get_up:
  %s2 = atomicrmw sub ptr @sleeping, i64 1 seq_cst
  %u = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %enter
enter:
  %job = phi i64 [ %g1, %spin ], [ %g2, %get_up ]
  %was = atomicrmw add ptr @state, i64 2 seq_cst
  %open = and i64 %was, 1
  %is_open = icmp ne i64 %open, 0
  br i1 %is_open, label %help, label %leave
help:
  %before = atomicrmw add ptr @helpers, i64 1 monotonic
  %here = add i64 %before, 1
  %reached = shl i64 %here, 1
  %ranges = load i64, ptr @ranges
  %missing = icmp ult i64 %reached, %ranges
  br i1 %missing, label %wake, label %work
wake:
  call void @wake_two()
  br label %work
work:
  call void @take_chunks(i64 %self)
  br label %leave
leave:
  %o = atomicrmw sub ptr @state, i64 2 seq_cst
  br label %idle
}

define internal void @start_workers() noinline {
entry:
  %attributes = alloca [128 x i8], align 16
  %blocked = alloca [128 x i8], align 16
  %before = alloca [128 x i8], align 16
  %id = alloca i64
  %m = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %c = call i32 @pthread_cond_init(ptr @condition, ptr null)
  %a = call i32 @pthread_attr_init(ptr %attributes)
  %z = call i32 @pthread_attr_setstacksize(ptr %attributes, i64 8388608)
  %d = call i32 @pthread_attr_setdetachstate(ptr %attributes, i32 DETACHED)
  %f = call i32 @sigfillset(ptr %blocked)
LEFT_OPEN
  %b = call i32 @pthread_sigmask(i32 SIG_SETMASK, ptr %blocked, ptr %before)
  %threads = load i64, ptr @threads
  br label %next
next:
  %n = phi i64 [ 1, %entry ], [ %n1, %made ]
  %more = icmp slt i64 %n, %threads
  br i1 %more, label %make, label %done
make:
  %number = inttoptr i64 %n to ptr
  %r = call i32 @pthread_create(ptr %id, ptr %attributes, ptr @worker, ptr %number)
  %failed = icmp ne i32 %r, 0
  br i1 %failed, label %done, label %made
made:
  %n1 = add i64 %n, 1
  br label %next
done:
  store i64 %n, ptr @started
  %b2 = call i32 @pthread_sigmask(i32 SIG_SETMASK, ptr %before, ptr null)
  %e = call i32 @pthread_attr_destroy(ptr %attributes)
  ret void
}
"""

LAUNCH = """
; Runs kernel(begin, end, arguments) over 0..programs-1, at least `grain` of them at a time. Returns when all are done.
define void @naiad_pool_run(ptr %kernel, i64 %programs, i64 %grain, ptr %arguments) {
entry:
  %threads = load i64, ptr @threads
  %alone = icmp sle i64 %threads, 1
  %few = icmp sle i64 %programs, %grain
  %single = icmp sle i64 %programs, 1
  %or1 = or i1 %alone, %few
  %or2 = or i1 %or1, %single
  br i1 %or2, label %inline, label %try
try:
  %had = atomicrmw xchg ptr @busy, i64 1 acquire
  %taken = icmp ne i64 %had, 0
  br i1 %taken, label %inline, label %mine
inline:
  call void %kernel(i64 0, i64 %programs, ptr %arguments)
  ret void
mine:
  %started = load i64, ptr @started
  %fresh = icmp eq i64 %started, 0
  br i1 %fresh, label %start, label %clear
start:
  call void @start_workers()
  br label %clear
clear:                                  ; a worker that came too late for the last job may be on its way out
  %s0 = load atomic i64, ptr @state acquire, align 8
  %empty = icmp eq i64 %s0, 0
  br i1 %empty, label %publish, label %clear_wait
clear_wait:
  PAUSE
  br label %clear
publish:
  %shares = shl i64 %threads, 3
  %more = add i64 %programs, %shares
  %more1 = sub i64 %more, 1
  %even = sdiv i64 %more1, %shares
  %coarse = icmp sgt i64 %grain, %even
  %chunk = select i1 %coarse, i64 %grain, i64 %even
  %filled = add i64 %programs, %chunk
  %filled1 = sub i64 %filled, 1
  %chunks = sdiv i64 %filled1, %chunk
  %fewer = icmp slt i64 %chunks, %threads
  %ranges0 = select i1 %fewer, i64 %chunks, i64 %threads
  %many = icmp sgt i64 %ranges0, MAX_RANGES
  %ranges = select i1 %many, i64 MAX_RANGES, i64 %ranges0
  store i64 %programs, ptr @programs
  store i64 %chunk, ptr @chunk
  store i64 %chunks, ptr @chunks
  store i64 %ranges, ptr @ranges
  store ptr %kernel, ptr @kernel
  store ptr %arguments, ptr @arguments
  store atomic i64 0, ptr @helpers monotonic, align 8
  %last_job = load i64, ptr @generation
  %job = add i64 %last_job, 1
  store i64 %job, ptr @job
  %o = atomicrmw or ptr @state, i64 1 seq_cst
  %g = atomicrmw add ptr @generation, i64 1 seq_cst
  call void @wake_two()
  call void @take_chunks(i64 0)
  %c = atomicrmw and ptr @state, i64 -2 seq_cst
  br label %last
last:
  %n = phi i64 [ 0, %publish ], [ %n1, %again ]
  %s = load atomic i64, ptr @state acquire, align 8
  %none = icmp eq i64 %s, 0
  br i1 %none, label %done, label %pause
pause:
  PAUSE
  %n1 = add i64 %n, 1
  %long = icmp sgt i64 %n1, 1000
  br i1 %long, label %yield, label %again
yield:
  %y = call i32 @sched_yield()
  br label %again
again:
  br label %last
done:
  store atomic i64 0, ptr @busy release, align 8
  ret void
}

define void @naiad_pool_configure(i64 %threads, i64 %spins) {
  store i64 %threads, ptr @threads
  store i64 %spins, ptr @spins
  ret void
}

define i64 @naiad_pool_started() {
  %n = load i64, ptr @started
  ret i64 %n
}

; In a child after fork: no worker has survived, and a launch of the parent may have been under way.
define void @naiad_pool_reset() {
  %g = atomicrmw add ptr @generation, i64 1 seq_cst    ; that launch's number is not used again
  store i64 0, ptr @state
  store i64 0, ptr @busy
  store i64 0, ptr @sleeping
  store i64 0, ptr @started
  call void @llvm.memset.p0.i64(ptr @mutex, i8 0, i64 64, i1 false)
  call void @llvm.memset.p0.i64(ptr @condition, i8 0, i64 64, i1 false)
  ret void
}

define void @naiad_pool_pause(i64 %times) {
entry:
  br label %next
next:
  %n = phi i64 [ 0, %entry ], [ %n1, %next ]
  PAUSE
  %n1 = add i64 %n, 1
  %more = icmp slt i64 %n1, %times
  br i1 %more, label %next, label %done
done:
  ret void
}
"""

NAMES = ("naiad_pool_run", "naiad_pool_configure", "naiad_pool_started", "naiad_pool_reset", "naiad_pool_pause")


def pool_text(architecture: str) -> str:
    """The pool for "x86_64" or "aarch64", on Linux."""
    declaration, pause = PAUSE[architecture]
    left_open = [f"  %k{s} = call i32 @sigdelset(ptr %blocked, i32 {s})" for s in LEFT_OPEN]
    text = declaration + JOB + WORKER + LAUNCH
    text = text.replace("SIG_SETMASK", str(SIG_SETMASK)).replace("DETACHED", str(DETACHED))
    text = text.replace("MAX_RANGES", str(MAX_RANGES))
    return text.replace("LEFT_OPEN", "\n".join(left_open)).replace("PAUSE", pause)
