// Prints the bill of materials (CycloneDX) of the production packages, or of those that a lock file lists as installed:
//   node tools/sbom.mjs [node_modules/.package-lock.json]
// `npm sbom --omit dev` also leaves out production packages that any workspace names as a development dependency, so all
// packages are requested and selected here.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';

const MARK = 'node_modules/';
const { packages } = JSON.parse(fs.readFileSync(process.argv[2] ?? 'package-lock.json', 'utf8'));
const wanted = new Set(
  Object.entries(packages)
    .filter(([folder, { dev, link }]) => folder.includes(MARK) && !dev && !link)
    .map(([folder, { version }]) => `${folder.slice(folder.lastIndexOf(MARK) + MARK.length)}@${version}`),
);
const options = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'];
const bill = JSON.parse(execFileSync('npm', options, { stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 2 ** 27 }));
const isWanted = ({ name, version }) => wanted.has(`${name}@${version}`);
const kept = bill.components.filter(isWanted);
const refs = new Set(kept.map((component) => component['bom-ref']));
const dependencies = bill.dependencies
  .filter(({ ref }) => refs.has(ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) }));
bill.metadata.component.name = '@rmm/source';
console.log(JSON.stringify({ ...bill, components: kept, dependencies }, null, 2));
