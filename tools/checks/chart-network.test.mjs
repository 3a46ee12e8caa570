// Network policies and routes of the Helm chart of deploy/chart.
import assert from 'node:assert/strict';
import net from 'node:net';
import { describe, it } from 'node:test';
import { addressKind } from '../../libs/outbound/dist/address-kind.js';
import { SERVICE_NAMES as names, SERVICES } from '../dist/fleet/services.js';
import {
  environmentOf,
  find,
  ofKind,
  podOf,
  podsOf,
  read,
  refusalOf,
  rendered,
  selects,
  skip,
} from './support/chart-variants.mjs';

describe('the network policies of the chart', { skip }, () => {
  const objects = rendered.production ?? [];
  const policies = ofKind(objects, 'NetworkPolicy');
  const policyOf = (name, from = objects) => find(from, 'NetworkPolicy', `rmm-${name}`);
  const labelsOf = (name) => podOf(find(objects, 'Deployment', `rmm-${name}`)).metadata.labels;
  const isInternet = ({ to }) => to?.some(({ ipBlock }) => ipBlock?.cidr === '0.0.0.0/0');
  const mayCall = (caller, called) => {
    const outgoing = policyOf(caller).spec.egress.some(({ to }) =>
      to.some(
        ({ podSelector, namespaceSelector }) =>
          !namespaceSelector && podSelector && selects(podSelector, labelsOf(called)),
      ),
    );
    const incoming = policyOf(called).spec.ingress.some(({ from }) =>
      from.some(
        ({ podSelector, namespaceSelector }) =>
          !namespaceSelector && podSelector && selects(podSelector, labelsOf(caller)),
      ),
    );
    assert.equal(outgoing, incoming, `${caller} → ${called} is allowed on one side only`);
    return outgoing;
  };

  it('deny both ways for the whole namespace, and for each pod by itself', () => {
    const { spec } = policyOf('deny-namespace');
    assert.deepEqual(spec, { podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
    for (const [name, { metadata }] of podsOf(objects)) {
      const labels = metadata.labels;
      const own = policies.filter(
        (each) => each !== policyOf('deny-namespace') && selects(each.spec.podSelector, labels),
      );
      assert.equal(own.length, 1, name);
      assert.deepEqual(own[0].spec.policyTypes, ['Ingress', 'Egress'], name);
    }
  });

  it('have no rule for every address, and no rule without ports', () => {
    for (const { metadata, spec } of policies) {
      for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) {
        assert.ok((rule.from ?? rule.to).length > 0 && rule.ports.length > 0, metadata.name);
      }
    }
  });

  it('are refused while the place of a store is unknown', () => {
    for (const store of ['postgres', 'redis', 'nats']) {
      assert.match(refusalOf({ stores: { [store]: { to: [] } } }), new RegExp(`stores\\.${store}\\.to`));
    }
  });

  it('let the services send traces to the collector where there is one, and are refused while its place is unknown', () => {
    const toCollector = (variant, name) =>
      policyOf(name, rendered[variant]).spec.egress.filter(({ ports }) => ports.some(({ port }) => port === 4318));
    for (const name of names) {
      assert.deepEqual(toCollector('production', name), [], name);
      const [{ to }, ...others] = toCollector('extras', name);
      assert.deepEqual([Object.values(to[0].namespaceSelector.matchLabels), others], [['monitoring'], []], name);
      const { OTEL_TRACES_SAMPLER_ARG: ratio } = environmentOf(find(rendered.extras, 'Deployment', `rmm-${name}`));
      assert.equal(ratio.value, '0.05');
    }
    assert.match(refusalOf({ config: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' } }), /collector\.to/);
  });

  it('let services call each other as they do, on both sides', () => {
    const calls = names.flatMap((caller) =>
      names.filter((called) => called !== caller && mayCall(caller, called)).map((called) => `${caller} → ${called}`),
    );
    assert.deepEqual(calls, [
      'credentials → identity',
      'partner-gateway → identity',
      'partner-gateway → credentials',
      'partner-gateway → provisioning',
      'partner-gateway → webhook-dispatcher',
      'provisioning → identity',
      'webhook-dispatcher → identity',
    ]);
  });

  it('let only the ingress controller and the monitoring in from outside of the namespace', () => {
    for (const name of names) {
      const [{ from, ports }, ...others] = policyOf(name).spec.ingress;
      const namespaces = from.flatMap((peer) => Object.values(peer.namespaceSelector?.matchLabels ?? {}));
      assert.deepEqual([namespaces, others.length, ports.length], [['ingress-nginx', 'monitoring'], 0, 1], name);
      assert.ok(from.every(({ ipBlock }) => ipBlock === undefined));
    }
  });

  it('let the services with URLs of tenants out to the internet, and no other pod', () => {
    const withInternet = policies
      .filter(({ spec }) => spec.egress?.some(isInternet))
      .map(({ metadata }) => metadata.name);
    assert.deepEqual(withInternet.sort(), ['rmm-identity', 'rmm-provisioning', 'rmm-webhook-dispatcher']);
  });

  it('allow the addresses that libs/outbound calls public, and of those only', () => {
    const [rule] = policyOf('webhook-dispatcher').spec.egress.filter(isInternet);
    const isAllowed = allowedBy(rule);
    const special = [
      ...[
        '10.0.0.1',
        '127.0.0.1',
        '169.254.169.254',
        '168.63.129.16',
        '100.100.100.200',
        '100.64.0.1',
        '224.0.0.1',
        '255.255.255.255',
      ],
      ...[
        '::1',
        'fe80::1',
        'fc00::1',
        'fd00:ec2::254',
        'fd20:ce::254',
        'ff02::1',
        '2001:db8::1',
        '64:ff9b::a00:1',
        '::ffff:a00:1',
      ],
      ...['2002:a00:1::', '2001:0:a00:1::'],
    ];
    for (const address of special) assert.equal(isAllowed(address), false, address);
    for (const address of ['1.1.1.1', '93.184.216.34', '2606:4700::1111', '2a00:1450::1'])
      assert.equal(isAllowed(address), true, address);
    let differing = 0;
    for (let i = 0; i < 20_000; i++) {
      const address = [...new Uint8Array(new Uint32Array([(i * 2_654_435_761) >>> 0]).buffer)].join('.');
      if (isAllowed(address) !== (addressKind(address) === 'public')) differing++;
    }
    assert.equal(differing, 0);
  });

  it('keep the addresses of the cluster out, here and in libs/outbound', () => {
    const [rule] = policyOf('webhook-dispatcher', rendered.extras).spec.egress.filter(isInternet);
    const isAllowed = allowedBy(rule);
    assert.deepEqual(['203.113.1.1', '2a00:1450::1', '1.1.1.1'].map(isAllowed), [false, false, true]);
    const { OUTBOUND_BLOCKED_CIDRS } = environmentOf(find(rendered.extras, 'Deployment', 'rmm-webhook-dispatcher'));
    assert.equal(OUTBOUND_BLOCKED_CIDRS.value, '203.113.0.0/16,2a00:1450::/32');
    assert.ok(!('OUTBOUND_BLOCKED_CIDRS' in environmentOf(find(rendered.extras, 'Deployment', 'rmm-credentials'))));
  });

  it('let a job reach its store only', () => {
    const portsOf = (name) => policyOf(name).spec.egress.flatMap(({ ports }) => ports.map(({ port }) => port));
    assert.deepEqual(portsOf('identity-migrations'), [53, 53, 5432]);
    assert.deepEqual(portsOf('streams'), [53, 53, 4222]);
  });

  it('are left out when they are off', () => {
    assert.deepEqual(ofKind(rendered.minimal, 'NetworkPolicy'), []);
  });

  function allowedBy({ to }) {
    const lists = to.map(({ ipBlock }) => ({ within: listOf([ipBlock.cidr]), except: listOf(ipBlock.except) }));
    return (address) => {
      const family = net.isIPv6(address) ? 'ipv6' : 'ipv4';
      return lists.some(({ within, except }) => within.check(address, family) && !except.check(address, family));
    };
  }
  function listOf(cidrs) {
    const list = new net.BlockList();
    for (const cidr of cidrs) {
      const [address, bits] = cidr.split('/');
      list.addSubnet(address, Number(bits), net.isIPv6(address) ? 'ipv6' : 'ipv4');
    }
    return list;
  }
});

describe('the routes of the chart', { skip }, () => {
  const { routes } = JSON.parse(read('deploy/routes.json'));
  const expected = routes.map(({ prefix, service }) => `${prefix} ${service}`).sort();
  const withoutPrefix = (name) => name.replace(/^rmm-/, '');

  it('of an ingress are those of deploy/routes.json', () => {
    const found = ofKind(rendered.extras, 'Ingress').flatMap(({ spec }) =>
      spec.rules.flatMap(({ host, http }) => {
        assert.equal(host, 'rmm.example');
        return http.paths.map(({ path: prefix, pathType, backend }) => {
          assert.equal(pathType, 'Prefix');
          return `${prefix} ${withoutPrefix(backend.service.name)}`;
        });
      }),
    );
    assert.deepEqual(found.sort(), expected);
    const [{ spec, metadata }] = ofKind(rendered.extras, 'Ingress');
    assert.deepEqual(
      [spec.ingressClassName, spec.tls[0].secretName, metadata.annotations.note],
      ['nginx', 'rmm-tls', 'yes'],
    );
  });

  it('of an HTTPRoute are those of deploy/routes.json', () => {
    const found = ofKind(rendered.production, 'HTTPRoute').flatMap(({ spec }) =>
      spec.rules.flatMap(({ matches, backendRefs: [{ name, port }] }) => {
        assert.equal(port, SERVICES.find((each) => `rmm-${each.name}` === name).port);
        return matches.map((match) => `${match.path.value} ${withoutPrefix(name)}`);
      }),
    );
    assert.deepEqual(found.sort(), expected);
  });

  it('are left out by default, and need a host', () => {
    assert.deepEqual([...ofKind(rendered.defaults, 'Ingress'), ...ofKind(rendered.defaults, 'HTTPRoute')], []);
    assert.match(refusalOf({ exposure: { kind: 'ingress' } }), /exposure\.host/);
    assert.match(refusalOf({ exposure: { kind: 'httproute', host: 'a.example' } }), /exposure\.gateway\.name/);
  });
});
