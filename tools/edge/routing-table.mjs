import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../paths.mjs';

/** Read from the one table that the Kubernetes ingress is made from too. */
export function readRoutes(file = path.join(ROOT, 'deploy/routes.json')) {
  return JSON.parse(fs.readFileSync(file, 'utf8')).routes;
}

/**
 * Finds the service of a path: the longest prefix decides, and a prefix ends at a slash (`/api/v1/dev` is not
 * `/api/v1/devices`).
 * @param {{ prefix: string, service: string }[]} routes
 * @returns {(path: string) => string | null}
 */
export function routingTable(routes) {
  const longestFirst = [...routes].sort((a, b) => b.prefix.length - a.prefix.length);
  return (target) => {
    const found = longestFirst.find(({ prefix }) => target === prefix || target.startsWith(`${prefix}/`));
    return found?.service ?? null;
  };
}
