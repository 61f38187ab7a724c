// Changes a file as Claude Code does: under its lock, reading it first. In between it
// stops itself, until somebody has it go on.
'use strict';
const fs = require('fs');
const path = require('path');
const lockfile = require('proper-lockfile');

const [what, target, words] = process.argv.slice(2);
const read = (file) => JSON.parse(fs.readFileSync(file, 'utf8'));
const write = (file, value) => fs.writeFileSync(file, JSON.stringify(value, null, 2));
const ways = {
  // takes up the task
  task: () => {
    const task = read(target);
    return () => write(target, { ...task, owner: 'bob', status: 'in_progress' });
  },
  // sends mail
  inbox: () => {
    const entries = read(target);
    return () => write(target, [...entries, { from: 'eve', text: words, timestamp: new Date().toISOString(), read: false }]);
  },
  // makes a task, under the lock of the whole list
  list: () => {
    const ids = fs.readdirSync(path.dirname(target)).map((name) => parseInt(name, 10)).filter((id) => id > 0);
    const id = String(Math.max(0, ...ids) + 1);
    return () => write(path.join(path.dirname(target), `${id}.json`), { id, subject: words, description: '', status: 'pending', blocks: [], blockedBy: [] });
  },
};

(async () => {
  const release = await lockfile.lock(target, { onCompromised: () => {} }); // it learns of it, and goes on
  const go = ways[what]();
  fs.writeSync(1, 'read\n');
  process.kill(process.pid, 'SIGSTOP');
  go();
  await release().then(() => fs.writeSync(1, 'released\n'), () => fs.writeSync(1, 'lost\n'));
})();
