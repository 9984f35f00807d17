/** The part of a package-lock.json that is needed here. */
export interface Lock {
  readonly packages: Readonly<Record<string, LockEntry>>;
}

export interface LockEntry {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** The folders of all packages that the root needs to run, without those left out and theirs. */
export function neededPackages({ packages }: Lock, leftOut: readonly string[]): string[] {
  const found = new Set<string>();
  const visit = (path: string): void => {
    const { dependencies, optionalDependencies, peerDependencies } = packages[path] ?? {};
    const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
    for (const name of names.filter((one) => !leftOut.includes(one))) {
      const place = placeOf(packages, path, name);
      if (place === undefined || found.has(place)) continue;
      found.add(place);
      visit(place);
    }
  };
  visit('');
  return [...found].sort();
}

/** As Node looks for it: in the package's own folder, then in those above. */
function placeOf(packages: Lock['packages'], from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, folder.lastIndexOf('/node_modules/'))) {
    const place = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (place in packages) return place;
    if (!folder.includes('/node_modules/')) {
      return folder === '' || !(`node_modules/${name}` in packages)
        ? undefined
        : `node_modules/${name}`;
    }
  }
}
