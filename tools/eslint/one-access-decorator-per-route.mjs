/** Decorators of @rmm/access that say how a route may be entered. */
export const ROUTE_ACCESS = ['RequirePermission', 'SignedIn', 'Public', 'AcceptsApiKey', 'PartnerKey', 'AgentToken'];

/** Decorators of @nestjs/common that make a method a route. */
const ROUTES = ['Get', 'Post', 'Put', 'Patch', 'Delete', 'Head', 'Options', 'All', 'Search', 'Sse'];

/** The name of `@Name`, `@Name()` and `@access.Name()`. */
function nameOf(decorator) {
  const called = decorator.expression.type === 'CallExpression' ? decorator.expression.callee : decorator.expression;
  if (called.type === 'Identifier') return called.name;
  return called.type === 'MemberExpression' && called.property.type === 'Identifier' ? called.property.name : undefined;
}

const namesOf = (node) => (node.decorators ?? []).map(nameOf);
const routeAccessOf = (node) => namesOf(node).filter((name) => ROUTE_ACCESS.includes(name));
const isRoute = (node) => namesOf(node).some((name) => ROUTES.includes(name));

/**
 * Every route of a controller declares exactly one door, itself or through its class.
 * Start-up checks the same; this says it while the code is written.
 */
export const oneDoorPerRoute = {
  meta: {
    type: 'problem',
    docs: { description: 'require exactly one door on every route of a controller' },
    schema: [],
    messages: {
      none: 'Route {{ route }} has no door: declare one of {{ doors }}.',
      several:
        'Route {{ route }} has {{ count }} doors ({{ found }}): declare exactly one, on the method or on the class.',
    },
  },
  create(context) {
    function check(controller) {
      const shared = routeAccessOf(controller);
      const className = controller.id?.name ?? 'the controller';
      for (const member of controller.body.body) {
        if (member.type !== 'MethodDefinition' || !isRoute(member)) continue;
        const found = [...shared, ...routeAccessOf(member)];
        if (found.length === 1) continue;
        const route = `${className}.${member.key.name ?? member.key.value ?? '?'}`;
        context.report({
          node: member.key,
          messageId: found.length === 0 ? 'none' : 'several',
          data: {
            route,
            count: String(found.length),
            found: found.join(', '),
            doors: ROUTE_ACCESS.map((door) => `@${door}`).join(', '),
          },
        });
      }
    }
    const checkController = (node) => {
      if (namesOf(node).includes('Controller')) check(node);
    };
    return { ClassDeclaration: checkController, ClassExpression: checkController };
  },
};
