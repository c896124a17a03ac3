/* Calls of one process: directories and names. */
#ifndef DIRECTORY_H
#define DIRECTORY_H

#include "shared.h"

static int etc_ready(const char *with)
{
    (void)with;
    fd = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || chdir("/etc") != 0;
}

/* A file at a path of so many components. */
static int depth_ready(const char *with)
{
    const char *word = new_folder(with);
    if (word == NULL)
        return 1;
    for (long depth = strtol(word, NULL, 10); depth > 1; depth--) {
        strcat(path, "d");
        if (mkdirat(folder_fd, path, 0700) != 0)
            return 1;
        strcat(path, "/");
    }
    strcat(path, "empty");
    return create(path);
}

/* So many symbolic links, from the first of which one leads to the next, and the last to a file. */
static int chain_ready(const char *with)
{
    const char *word = new_folder(with);
    if (word == NULL || create("file"))
        return 1;
    char content[32] = "file";
    long links = strtol(word, NULL, 10);
    for (long link = 1; link <= links; link++) {
        snprintf(path, sizeof path, "link-%ld", link);
        if (symlinkat(content, folder_fd, path) != 0)
            return 1;
        snprintf(content, sizeof content, "link-%ld", link);
    }
    return 0;
}

/* A symbolic link whose content has so many bytes. */
static int link_ready(const char *with)
{
    char content[PAGE] = "";
    const char *word = new_folder(with);
    if (word == NULL || size_ready(word) || size >= PAGE)
        return 1;
    memset(content, 'x', size);
    return symlinkat(content, folder_fd, "link") != 0;
}

/* struct open_how: flags, mode, resolve. */
static uint64_t how[3] = { O_RDONLY | O_CLOEXEC, 0, 0 };

static int subfolder_ready(const char *with)
{
    return new_folder(with) == NULL || mkdirat(folder_fd, "empty", 0700) != 0;
}

static char entries[32 << 10];
static long entry_bytes;

/* All of the directory; returns the bytes of its entries, or -1. */
static long read_directory(void)
{
    long total = 0, bytes;
    if (lseek(folder_fd, 0, SEEK_SET) != 0)
        return -1;
    while ((bytes = raw(SYS_getdents64, folder_fd, entries, sizeof entries)) > 0)
        total += bytes;
    return bytes < 0 ? -1 : total;
}

/* So many names of eight characters, links of one file. */
static int names_ready(const char *with)
{
    const char *word = new_folder(with);
    long names = word == NULL ? 0 : strtol(word, NULL, 10);
    if (names < 1 || create("f0000000"))
        return 1;
    for (long name = 1; name < names; name++) {
        snprintf(path, sizeof path, "f%07ld", name);
        if (linkat(folder_fd, "f0000000", folder_fd, path, 0) != 0)
            return 1;
    }
    entry_bytes = read_directory();
    return syncfs(folder_fd) != 0 || entry_bytes <= 0;
}

static int here_fd, there_fd;

static int across_ready(const char *with)
{
    if (new_folder(with) == NULL || mkdirat(folder_fd, "here", 0700) != 0 ||
        mkdirat(folder_fd, "there", 0700) != 0 || create("here/file"))
        return 1;
    here_fd = openat(folder_fd, "here", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    there_fd = openat(folder_fd, "there", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return here_fd < 0 || there_fd < 0;
}

IN_LINE int rename_across(void)
{
    int from = here_fd;
    here_fd = there_fd;
    there_fd = from;
    return raw(SYS_renameat2, from, "file", here_fd, "file", 0) == 0;
}

static int exchange_ready(const char *with)
{
    return new_folder(with) == NULL || create("one") || create("other");
}

static char value[16];

static int attribute_ready(const char *with)
{
    return new_file(with, PAGE) == NULL ||
           fsetxattr(fd, "user.oscost", value, sizeof value, 0) != 0;
}

#define DIRECTORY_CALLS(OP) \
    OP(getcwd_etc, etc_ready, RAW(sizeof "/etc", SYS_getcwd, buffer, PAGE)) \
    OP(chdir_etc, NULL, RAW(0, SYS_chdir, "/etc")) \
    OP(fchdir_etc, etc_ready, RAW(0, SYS_fchdir, fd)) \
    OP(stat_depth, depth_ready, RAW(0, SYS_newfstatat, folder_fd, path, &status, 0)) \
    OP(stat_chain, chain_ready, RAW(0, SYS_newfstatat, folder_fd, path, &status, 0)) \
    OP(missing_open, empty_ready, \
       RAW_FAILS(ENOENT, SYS_openat, folder_fd, "missing", O_RDONLY | O_CLOEXEC)) \
    OP(missing_stat, empty_ready, \
       RAW_FAILS(ENOENT, SYS_newfstatat, folder_fd, "missing", &status, 0)) \
    OP(missing_access, empty_ready, \
       RAW_FAILS(ENOENT, SYS_faccessat, folder_fd, "missing", F_OK)) \
    OP(read_link, link_ready, RAW(size, SYS_readlinkat, folder_fd, "link", buffer, PAGE)) \
    OP(open_openat, inside_ready, RAW_OPEN(SYS_openat, AT_FDCWD, "file", O_RDONLY | O_CLOEXEC)) \
    OP(open_openat2, inside_ready, RAW_OPEN(SYS_openat2, AT_FDCWD, "file", how, sizeof how)) \
    OP(open_directory, subfolder_ready, \
       RAW_OPEN(SYS_openat, folder_fd, "empty", O_RDONLY | O_CLOEXEC | O_DIRECTORY)) \
    OP(read_directory, names_ready, RIGHT(read_directory() == entry_bytes)) \
    OP(link_unlink, folder_ready, \
       RAW(0, SYS_linkat, folder_fd, "file", folder_fd, "another", 0) \
       RAW(0, SYS_unlinkat, folder_fd, "another", 0)) \
    OP(symlink_unlink, empty_ready, \
       RAW(0, SYS_symlinkat, "file", folder_fd, "link") \
       RAW(0, SYS_unlinkat, folder_fd, "link", 0)) \
    OP(mkdir_rmdir, empty_ready, \
       RAW(0, SYS_mkdirat, folder_fd, "made", 0700) \
       RAW(0, SYS_unlinkat, folder_fd, "made", AT_REMOVEDIR)) \
    OP(rename_across, across_ready, RIGHT(rename_across())) \
    OP(rename_exchange, exchange_ready, \
       RAW(0, SYS_renameat2, folder_fd, "one", folder_fd, "other", RENAME_EXCHANGE)) \
    OP(xattr_get, attribute_ready, \
       RAW(sizeof value, SYS_fgetxattr, fd, "user.oscost", buffer, sizeof value)) \
    OP(xattr_list, attribute_ready, \
       RAW_AT_LEAST(sizeof "user.oscost", SYS_flistxattr, fd, buffer, PAGE)) \
    OP(xattr_set, attribute_ready, \
       value[0] ^= 1; RAW(0, SYS_fsetxattr, fd, "user.oscost", value, sizeof value, 0))

#endif
