const OTHER_FOLDER = 'choose another folder with --cache-dir';

/** What to do about an error of the file system, in one line. Other errors stay as they are. */
export function explainDiskError(error: unknown, cacheFolder: string): unknown {
  const { code, syscall, path, message } = error as NodeJS.ErrnoException;
  const because = { cause: error };
  // These name the file that was read, or none: what is full is where it was written to.
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new Error(`no space is left for ${cacheFolder}; make room or ${OTHER_FOLDER}`, because);
  }
  // In places such as /proc nothing can be made, which is called a folder that is not there.
  if (code === 'EROFS' || (code === 'ENOENT' && syscall === 'mkdir')) {
    return new Error(`the folder ${cacheFolder} cannot be written; ${OTHER_FOLDER}`, because);
  }
  if (code === undefined || path === undefined) return error;
  return new Error(`cannot use ${path} (${message.split(',')[0] ?? code})`, because);
}
