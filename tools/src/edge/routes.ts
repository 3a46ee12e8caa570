import fs from 'node:fs';
import path from 'node:path';
import type { ServiceName } from '../fleet/services.js';
import { ROOT } from '../paths.js';

export interface Route {
  prefix: string;
  service: ServiceName;
}

export function readRoutes(file = path.join(ROOT, 'deploy/routes.json')): Route[] {
  return (JSON.parse(fs.readFileSync(file, 'utf8')) as { routes: Route[] }).routes;
}

/** Returns a function that finds the service of a path: the longest prefix wins, and a prefix ends at a slash. */
export function createRouter(routes: readonly Route[]): (target: string) => ServiceName | null {
  const longestFirst = [...routes].sort((a, b) => b.prefix.length - a.prefix.length);
  return (target) =>
    longestFirst.find(({ prefix }) => target === prefix || target.startsWith(`${prefix}/`))?.service ?? null;
}
