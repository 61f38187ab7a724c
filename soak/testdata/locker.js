// Takes the lock of a file again and again, as Claude Code does, and writes down in
// a file that only grows when it holds it: B and E with its name, L when it was
// told that it had lost it.
'use strict';
const fs = require('fs');
const lockfile = require('proper-lockfile');

const [target, witness, name, stale] = process.argv.slice(2);
const say = (mark) => fs.appendFileSync(witness, `${mark} ${name}\n`);
const pause = (max) => new Promise((done) => setTimeout(done, Math.random() * max));
const options = {
  stale: Number(stale),
  retries: { retries: 30, minTimeout: 5, maxTimeout: 100 },
  onCompromised: () => {}, // releasing it says so too
};

(async () => {
  for (;;) {
    let release;
    try {
      release = await lockfile.lock(target, options);
    } catch (err) {
      if (err.code !== 'ELOCKED' && err.code !== 'ENOENT') throw err;
      continue;
    }
    say('B');
    await pause(Math.random() < 0.05 ? 30 : 1); // now and then long enough for the test to meet it there
    say('E');
    await release().catch(() => say('L'));
    await pause(3);
  }
})();
