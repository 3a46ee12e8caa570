import fs from 'node:fs';

/**
 * Moves a finished folder into place. Several launchers may fetch the same tool at once: the first one wins, the
 * others drop their copy, and nobody sees half a folder.
 * @param {() => boolean} isGood  whether what stands at `target` can be used
 */
export function swapIn(finished, target, isGood) {
  for (let attempt = 0; attempt < 5; attempt++) {
    try {
      fs.renameSync(finished, target);
      return;
    } catch {
      if (isGood()) {
        fs.rmSync(finished, { recursive: true, force: true });
        return;
      }
      setAside(target, `${target}.old-${process.pid}-${attempt}`);
    }
  }
  throw new Error(`cannot move ${finished} into place`);
}

function setAside(target, aside) {
  try {
    fs.renameSync(target, aside);
    fs.rmSync(aside, { recursive: true, force: true });
  } catch {
    // another launcher was faster; the next rename tells
  }
}
