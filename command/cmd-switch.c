/* SPDX-License-Identifier: MIT */
/* cmd-switch.c - `tallytree on` and `tallytree off`: switches functions of a running
 * process.
 *
 * The request is written to a place where the process finds it, then the process is
 * woken: see remote-control.h.  This command owns the folder that the process writes
 * into; it becomes a profile after `off`.
 *
 * Root may switch functions of any user's process.  Such a process must not control what
 * root does: a child makes the folder and the profile, with the rights of the process's
 * user. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "finish-run.h"
#include "options.h"
#include "remote-control.h"
#include "replacing.h"
#include "running.h"

enum flag { PROCESS = 1, ONLY, MODE, WORD, OVERHEAD, OUTPUT, LINES, SYMBOLS, DEBUGINFOD };

static const struct tt_flag on_flags[] = {
    {"pid", 'p', PROCESS, "PID", NULL, "the process"},
    {"only", 0, ONLY, "PATTERN", NULL,
     "switch only functions that match, such as 'lua_*'"},
    {"calls", 0, MODE, NULL, NULL, "count all calls (default)"},
    {"sampled", 0, MODE, "[HZ]", NULL, "sample, and count no calls"},
    {"exact", 0, MODE, NULL, NULL, "count and time all calls"},
    {"every", 0, MODE, "N", NULL, "count all calls, time each N-th"},
    {"max-overhead", 0, OVERHEAD, "SHARE", NULL,
     "switch off functions that cost more, such as 5%"},
    {"output", 'o', OUTPUT, "OUT", "@files", "let 'off' write the profile to OUT"},
    TT_REPLACING_FLAG,
    {"recursion", 0, WORD, "POLICY", TT_RECURSION_VALUES,
     "how recursion is folded (default: edge)"},
    {"budget", 0, WORD, "BYTES", NULL, "limit memory to BYTES (default: 64M)"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct tt_flag off_flags[] = {
    {"pid", 'p', PROCESS, "PID", NULL, "the process"},
    TT_REPLACING_FLAG,
    {"lines", 0, LINES, NULL, NULL, "show each line of a function below it"},
    {"symbols", 0, SYMBOLS, "DIR", "@files",
     "look for debug information in DIR; may be repeated"},
    {"debuginfod", 0, DEBUGINFOD, NULL, NULL,
     "fetch debug information from $DEBUGINFOD_URLS"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

struct switching {
    const struct tt_command *command;
    struct tt_running run;
    pid_t pid, inside; /* inside: the number that it has for itself */
    uid_t user;
    gid_t group;
    int mixed;    /* it runs with the rights of several users */
    int filtered; /* some of its system calls may be denied */
    const char *only;
    double most; /* what calls may cost; 0: whatever they do */
    char words[512];
    int temporary;    /* a descriptor of the folder of the request */
    char path[64];    /* of the request, as the process sees it */
    const char *base; /* its last part */
    uint32_t number;
    pid_t woken; /* the thread that was last sent the signal */
    char answer[TT_REMOTE_SIZE - TT_REMOTE_ANSWER + 1];
};

/* ── Flags ────────────────────────────────────────────────────────────────────────── */

static int add_words(struct switching *s, const char *name, const char *value,
                     int is_mode)
{
    size_t length = strlen(s->words);
    struct tt_options o;
    int n = snprintf(s->words + length, sizeof s->words - length, "%s%s%s%s%s",
                     length ? "," : "", is_mode ? "hooks=" : "", name, value ? "=" : "",
                     value ? value : "");

    if (n < (int)(sizeof s->words - length) && !(value && strpbrk(value, ", \t\n")) &&
        tt_options_read(&o, s->words, NULL) == 0)
        return 0;
    return tt_command_cannot(s->command, name, value ? value : "");
}

static int take_share(struct switching *s, const char *value)
{
    char *end;

    s->most = strtod(value, &end);
    if (*end == '%' && end++)
        s->most /= 100;
    if (end != value && !*end && s->most > 0 && s->most < 100)
        return 0;
    tt_complain("on: '--max-overhead' wants a share, as 5%%, not '%s'", value);
    return -TT_ERR_OPTION;
}

static int take_flag(struct switching *s, const struct tt_flags *f)
{
    const struct tt_flag *flag = f->flag;
    const char *value = f->value;

    switch ((enum flag)flag->id) {
    case PROCESS:
        return tt_command_process(s->command, f, &s->pid);
    case ONLY:
        s->only = value;
        if (*value && !strchr(value, '\n') && strlen(value) < 1000)
            return 0;
        tt_complain("%s: '--only' wants the name of a function", s->command->name);
        return -TT_ERR_OPTION;
    case MODE:
        return add_words(s, flag->name, value, 1);
    case WORD:
        return add_words(s, flag->name, value, 0);
    case OVERHEAD:
        return take_share(s, value);
    case OUTPUT:
        return tt_running_writes(&s->run, s->command->name, value);
    case LINES:
        s->run.naming.lines = 1;
        return 0;
    case DEBUGINFOD:
        s->run.naming.options.debuginfod = 1;
        return 0;
    case SYMBOLS:
        return tt_names_folder(&s->run.naming, value);
    }
    return 0;
}

/* Returns the status to exit with, or less than 0 to continue. */
static int read_flags(struct switching *s, int argc, char **argv)
{
    struct tt_flags f;
    int id, status;

    tt_command_flags(s->command, &f, argc, argv);
    while ((id = tt_command_next(s->command, &f, &status)) > 0)
        if (take_flag(s, &f) != 0)
            return TT_EXIT_FAILED;
    if (id < 0)
        return status;
    if (f.count || !s->pid)
        return tt_command_wants(s->command, "a process: -p PID, and nothing else");
    return -1;
}

/* ── The process ──────────────────────────────────────────────────────────────────── */

static int complain(const struct switching *s, const char *what)
{
    tt_complain("%s: process %d: %s", s->command->name, (int)s->pid, what);
    return -TT_ERR_STATE;
}

static FILE *open_proc(const struct switching *s, const char *file)
{
    char path[128];

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)s->pid, file);
    return fopen(path, "re");
}

static int find_name(struct switching *s)
{
    char *name = s->run.program.path;
    FILE *f = open_proc(s, "comm");

    if (!f)
        return complain(s, "there is no such process");
    if (!fgets(name, sizeof s->run.program.path, f))
        *name = '\0';
    (void)fclose(f);
    tt_running_clean(name);
    s->run.program.base = name;
    return 0;
}

/* Has the process mapped the library, or at least its file? */
static int has_library(const struct switching *s)
{
    FILE *f = open_proc(s, "maps");
    char line[PATH_MAX + 200];
    int has = 0;

    if (!f)
        return -1;
    while (!has && fgets(line, sizeof line, f))
        has = strstr(line, "/" TT_REMOTE_LIBRARY) != NULL;
    (void)fclose(f);
    return has;
}

static int check_library(const struct switching *s)
{
    int has = has_library(s);

    if (has > 0)
        return 0;
    if (has < 0 && (errno == EACCES || errno == EPERM))
        return complain(s, s->user != geteuid() && geteuid() != 0
                               ? "it belongs to another user; run this as root"
                               : "the system does not allow access to it");
    if (has < 0)
        return complain(s, strerror(errno));
    return complain(s, TT_REMOTE_LIBRARY " is not in it, preloaded, or linked with "
                                         "-Wl,--no-as-needed");
}

/* Takes a line of /proc/PID/status, after its colon. */
static int status_line(const char *line, const char *key, char *out, size_t size)
{
    size_t length = strlen(key);

    if (strncmp(line, key, length) != 0 || line[length] != ':')
        return 0;
    (void)snprintf(out, size, "%s", line + length + 1);
    return 1;
}

static void read_user(struct switching *s, const char *line)
{
    uid_t real = 0, saved = 0;

    s->mixed = sscanf(line, "%u %u %u", &real, &s->user, &saved) != 3 ||
               real != s->user || saved != s->user;
}

static int read_status(struct switching *s, unsigned long long *caught)
{
    FILE *f = open_proc(s, "status");
    char line[512], value[512];
    char *last;

    *caught = 0;
    s->inside = s->pid;
    if (!f)
        return complain(s, "there is no such process");
    while (fgets(line, sizeof line, f)) {
        if (status_line(line, "SigCgt", value, sizeof value))
            *caught = strtoull(value, NULL, 16);
        else if (status_line(line, "Uid", value, sizeof value))
            read_user(s, value);
        else if (status_line(line, "Gid", value, sizeof value))
            (void)sscanf(value, "%*u %u", &s->group);
        else if (status_line(line, "Seccomp", value, sizeof value))
            s->filtered = atoi(value) != 0;
        else if (status_line(line, "NSpid", value, sizeof value) &&
                 (last = strrchr(value, '\t')))
            s->inside = (pid_t)strtol(last + 1, NULL, 10);
    }
    (void)fclose(f);
    return 0;
}

/* The signal would kill a process that does not catch it. */
static int check_process(struct switching *s)
{
    unsigned long long caught;

    if (find_name(s) != 0 || read_status(s, &caught) != 0)
        return -TT_ERR_STATE;
    if (geteuid() != 0 && geteuid() != s->user)
        return complain(s, "it belongs to another user; run this as root");
    if (s->mixed)
        return complain(s, "it runs with the rights of more than one user");
    if (check_library(s) != 0)
        return -TT_ERR_STATE;
    if (!(caught >> (tt_remote_signal() - 1) & 1))
        return complain(s, "it does not handle the signal by which requests are sent");
    return 0;
}

/* ── With its rights ──────────────────────────────────────────────────────────────── */

static int take_rights(const struct switching *s)
{
    return setgroups(1, &s->group) != 0 || setresgid(s->group, s->group, s->group) != 0 ||
                   setresuid(s->user, s->user, s->user) != 0
               ? complain(s, "tallytree cannot continue as its user")
               : 0;
}

/* Does this in a child if root does it for another user; *s is shared with it.  0, or a
 * negative error after a complaint. */
static int as_its_user(struct switching *s, int (*act)(struct switching *))
{
    pid_t child;
    int status;

    if (geteuid() == s->user)
        return act(s);
    (void)fflush(NULL);
    child = fork();
    if (child == 0)
        _exit(take_rights(s) != 0 || act(s) != 0);
    if (child < 0)
        return complain(s, strerror(errno));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return complain(s, strerror(errno));
    return status ? -TT_ERR_FILE : 0;
}

/* ── The request ──────────────────────────────────────────────────────────────────── */

/* Opens the process's own /tmp, where its user can make files too, and may have put
 * another folder.  Returns a descriptor, or -1 with errno. */
static int open_temporary(const struct switching *s)
{
    char path[64];
    int root, folder = -1;
    struct stat st;

    (void)snprintf(path, sizeof path, "/proc/%d/root", (int)s->pid);
    root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root >= 0) {
        folder = openat(root, "tmp", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(root);
    }
    if (folder >= 0 &&
        (fstat(folder, &st) != 0 || (st.st_uid != s->user && !(st.st_mode & S_IWOTH)))) {
        close(folder);
        folder = -1;
        errno = EACCES;
    }
    return folder;
}

static void name_request(struct switching *s)
{
    if (getrandom(&s->number, sizeof s->number, 0) != sizeof s->number)
        s->number = (uint32_t)getpid();
    s->number &= 0x7fffffff;
    (void)snprintf(s->path, sizeof s->path, TT_REMOTE_PATH, (int)s->inside, s->number);
    s->base = strrchr(s->path, '/') + 1;
}

static int write_request(struct switching *s, const char *text)
{
    size_t size = strlen(text);
    int fd = -1, error;

    name_request(s);
    s->temporary = open_temporary(s);
    if (s->temporary >= 0)
        fd = openat(s->temporary, s->base,
                    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        tt_complain("%s: process %d: cannot write a request to its %s: %s",
                    s->command->name, (int)s->pid, s->path, strerror(errno));
        return -TT_ERR_FILE;
    }
    error = pwrite(fd, text, size, 0) != (ssize_t)size ||
            (geteuid() == 0 && fchown(fd, s->user, s->group) != 0);
    close(fd);
    if (!error)
        return 0;
    (void)unlinkat(s->temporary, s->base, 0);
    return complain(s, "cannot write a request for it");
}

/* Returns 1 if the answer is complete.  *mark is what the process has done with the
 * request. */
static int read_answer(struct switching *s, char *mark)
{
    int fd = openat(s->temporary, s->base,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : pread(fd, s->answer, sizeof s->answer - 1, TT_REMOTE_ANSWER);

    if (fd < 0 || pread(fd, mark, 1, TT_REMOTE_MARK) != 1)
        *mark = '\0';
    if (fd >= 0)
        close(fd);
    s->answer[n > 0 ? n : 0] = '\0';
    return n >= 2 && strcmp(s->answer + n - 2, ".\n") == 0;
}

static int is_blocked(const struct switching *s, const char *thread)
{
    char name[64], line[512], value[512];
    int blocked = 1;
    FILE *f;

    (void)snprintf(name, sizeof name, "task/%.20s/status", thread);
    f = open_proc(s, name);
    while (f && fgets(line, sizeof line, f))
        if (status_line(line, "SigBlk", value, sizeof value))
            blocked = strtoull(value, NULL, 16) >> (tt_remote_signal() - 1) & 1;
    if (f)
        (void)fclose(f);
    return blocked;
}

/* Returns the thread after the last one that was woken, in their order, among those that
 * accept the signal; 0: none. */
static pid_t next_thread(const struct switching *s, pid_t last)
{
    char path[64];
    pid_t first = 0, next = 0, thread;
    struct dirent *e;
    DIR *d;

    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)s->pid);
    d = opendir(path);
    while (d && (e = readdir(d))) {
        thread = (pid_t)strtol(e->d_name, NULL, 10);
        if (thread <= 0 || is_blocked(s, e->d_name))
            continue;
        if (!first || thread < first)
            first = thread;
        if (thread > last && (!next || thread < next))
            next = thread;
    }
    if (d)
        (void)closedir(d);
    return next ? next : first;
}

/* Wakes the process again, by another thread than before. */
static void wake_thread(struct switching *s)
{
    siginfo_t info;

    s->woken = next_thread(s, s->woken);
    if (!s->woken)
        return;
    memset(&info, 0, sizeof info);
    info.si_signo = tt_remote_signal();
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = (int)s->number;
    (void)syscall(SYS_rt_tgsigqueueinfo, s->pid, s->woken, info.si_signo, &info);
}

/* The signal may have come when no thread could be started, or during another request.  A
 * request that is marked as taken needs no further signal. */
static int wait_for_answer(struct switching *s)
{
    enum { TRIES = 6000, AGAIN = 200, BUSY = 2000 };
    const struct timespec rest = {0, 5000000};
    char mark = '\0';
    int busy = 0;

    for (int i = 1; i <= TRIES && busy < BUSY; i++) {
        if (read_answer(s, &mark))
            return 0;
        if (kill(s->pid, 0) != 0 && errno == ESRCH)
            return complain(s, "it has ended");
        busy += mark == TT_REMOTE_BUSY;
        if (mark == TT_REMOTE_BUSY || (!mark && i % AGAIN == 0))
            wake_thread(s);
        (void)nanosleep(&rest, NULL);
    }
    if (mark == TT_REMOTE_BUSY)
        return complain(s, "it is in its allocator or the C library whenever it is "
                           "interrupted, where no thread can be started; try again");
    return complain(s, s->filtered ? "it does not answer: system calls are denied to it"
                                   : "it does not answer");
}

static int ask(struct switching *s, const char *text)
{
    int error = write_request(s, text);
    const union sigval number = {.sival_int = (int)s->number};

    if (error)
        return error;
    s->woken = s->pid; /* the first thread, if it takes the signal */
    error = sigqueue(s->pid, tt_remote_signal(), number) != 0
                ? complain(s, strerror(errno))
                : wait_for_answer(s);
    (void)unlinkat(s->temporary, s->base, 0);
    close(s->temporary);
    return error;
}

/* Returns a line of the answer; NULL: it has none.  Valid until the next call. */
static const char *answered(const struct switching *s, const char *key)
{
    static char line[PATH_MAX];
    size_t length = strlen(key);
    const char *p = s->answer;

    while (p && !(strncmp(p, key, length) == 0 && p[length] == '=')) {
        p = strchr(p, '\n');
        p = p ? p + 1 : NULL;
    }
    if (!p)
        return NULL;
    (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(p + length + 1, "\n"),
                   p + length + 1);
    return line;
}

static unsigned long number_answered(const struct switching *s, const char *key)
{
    const char *value = answered(s, key);

    return value ? strtoul(value, NULL, 10) : 0;
}

/* ── On ───────────────────────────────────────────────────────────────────────────── */

static int make_folder(struct switching *s)
{
    if (s->run.out && tt_replacing_check(s->run.out) != 0)
        return -TT_ERR_FILE;
    if (tt_running_make(&s->run, s->pid) == 0)
        return 0;
    tt_complain("on: %s: %s%s", s->run.folder, strerror(errno),
                geteuid() == getuid() ? "; -o OUT writes it elsewhere" : "");
    return -TT_ERR_FILE;
}

/* If nothing was recorded into it. */
static int remove_empty(struct switching *s)
{
    (void)rmdir(s->run.folder);
    return 0;
}

static int switch_on(struct switching *s)
{
    char text[TT_REMOTE_MARK];
    int n, error = as_its_user(s, make_folder);

    if (error)
        return error;
    n = snprintf(text, sizeof text,
                 "command=on\nwords=%s\noutput=%s/%s.%d\nmost=%g\n%s%s%s", s->words,
                 s->run.folder, s->run.program.base, (int)s->pid, s->most,
                 s->only ? "only=" : "", s->only ? s->only : "", s->only ? "\n" : "");
    error = n < (int)sizeof text ? ask(s, text) : complain(s, "its name is too long");
    if (!error && answered(s, "error")) {
        tt_complain("on: process %d: %s", (int)s->pid, answered(s, "error"));
        error = -TT_ERR_STATE;
    }
    (void)as_its_user(s, remove_empty);
    if (error)
        return error;
    tt_complain("%lu of %lu functions of %s are on%s", number_answered(s, "on"),
                number_answered(s, "sites"), s->run.program.base,
                answered(s, "again") ? ", in the recording that is under way" : "");
    if (answered(s, "reason"))
        tt_complain("on: process %d: not all: %s", (int)s->pid, answered(s, "reason"));
    return 0;
}

/* Shared, so that results of the child are available here. */
static struct switching *new_switching(const struct tt_command *command,
                                       const char *words)
{
    struct switching *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (s == MAP_FAILED) {
        tt_complain("%s: no memory", command->name);
        return NULL;
    }
    s->command = command;
    (void)snprintf(s->words, sizeof s->words, "%s", words);
    return s;
}

static int run_on(int argc, char **argv)
{
    struct switching *s = new_switching(&tt_command_on, "hooks=calls");
    int status = s ? read_flags(s, argc, argv) : TT_EXIT_FAILED;

    if (status >= 0)
        return status;
    if (strstr(s->words, "sampled") && add_words(s, "sampler", "thread", 0) != 0)
        return TT_EXIT_FAILED;
    return check_process(s) == 0 && switch_on(s) == 0 ? TT_EXIT_DONE : TT_EXIT_FAILED;
}

/* ── Off ──────────────────────────────────────────────────────────────────────────── */

/* Turns DIR/.OUT.PID.live, or DIR/.OUT.PID-N.live, which holds the recordings, into
 * DIR/OUT. */
static int find_output(struct switching *s)
{
    static const char suffix[] = ".live";
    const char *base;
    char *end, *name = s->run.name;

    end = strrchr(s->run.folder, '/');
    if (!end || end - s->run.folder < (long)sizeof suffix)
        return complain(s, "it recorded nothing here");
    *end = '\0';
    base = strrchr(s->run.folder, '/');
    end = s->run.folder + strlen(s->run.folder) - strlen(suffix);
    if (!base || base[1] != '.' || end <= base + 2 || strcmp(end, suffix) != 0)
        return complain(s, "its recording is not in a folder that tallytree made");
    (void)snprintf(name, sizeof s->run.name, "%.*s%.*s", (int)(base + 1 - s->run.folder),
                   s->run.folder, (int)(end - base - 2), base + 2);
    end = strrchr(name, '.');
    if (end && !strchr(end, '/'))
        *end = '\0';
    return 0;
}

static int gather(struct switching *s) { return tt_running_gather(&s->run); }

static void tell_thinned(const struct switching *s)
{
    static const char key[] = "thinned=";

    for (const char *p = s->answer; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
        int length = (int)strcspn(p, "\n") - (int)strlen(key), blank = length;
        if (strncmp(p, key, strlen(key)) != 0)
            continue;
        p += strlen(key);
        while (blank > 0 && p[blank] != ' ')
            blank--;
        tt_complain("%.*s was switched off by --max-overhead, after%.*s calls", blank, p,
                    length - blank, p + blank);
    }
}

static int switch_off(struct switching *s)
{
    int error = ask(s, "command=off\n");

    if (error)
        return error;
    if (answered(s, "error")) {
        tt_complain("off: process %d: %s", (int)s->pid, answered(s, "error"));
        return -TT_ERR_STATE;
    }
    if (answered(s, "reason"))
        tt_complain("off: process %d: not all: %s", (int)s->pid, answered(s, "reason"));
    tell_thinned(s);
    if (!answered(s, "output") || !*answered(s, "output"))
        return 0; /* the program records by itself */
    (void)snprintf(s->run.folder, sizeof s->run.folder, "%s", answered(s, "output"));
    error = find_output(s);
    return error ?: as_its_user(s, gather);
}

static int run_off(int argc, char **argv)
{
    struct switching *s = new_switching(&tt_command_off, "");
    int status = s ? read_flags(s, argc, argv) : TT_EXIT_FAILED;

    if (status < 0)
        status = check_process(s) == 0 && switch_off(s) == 0 ? TT_EXIT_DONE
                                                             : TT_EXIT_FAILED;
    if (s)
        tt_names_fini(&s->run.naming);
    return status;
}

const struct tt_command tt_command_on = {
    .name = "on",
    .synopsis = "[FLAGS] -p PID",
    .about = "switch functions of a running process on",
    .details =
        "Records the calls of functions of a running process from now on. The program\n"
        "must be compiled with -fpatchable-function-entry=5, or with -pg -mfentry\n"
        "-mnop-mcount -mrecord-mcount, and must have loaded libtallytree-switch.\n"
        "'tallytree off' ends this and writes OUT (default:\n"
        "tallytree.PROGRAM.HOST.PID.tt). Another 'on' replaces the choice of "
        "functions.\n",
    .flags = on_flags,
    .run = run_on,
};

const struct tt_command tt_command_off = {
    .name = "off",
    .synopsis = "[FLAGS] -p PID",
    .about = "switch functions off, and write the profile",
    .details =
        "Writes the profile, with names, to the file that 'tallytree on' printed.\n",
    .flags = off_flags,
    .run = run_off,
};
