// Lists the API from openapi.json; every text is set as text.

function element(name, ...children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

// Replaces references to schemas by the schemas, each once on a path: a schema may refer to itself.
function resolved(schema, all, seen = []) {
  if (Array.isArray(schema)) return schema.map((one) => resolved(one, all, seen));
  if (schema === null || typeof schema !== "object") return schema;
  if (schema.$ref) {
    const name = schema.$ref.split("/").pop();
    return seen.includes(name) ? name : resolved(all[name], all, [...seen, name]);
  }
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, resolved(value, all, seen)]));
}

function operation(path, method, described, schemas) {
  const details = element("details", element("summary", element("code", `${method.toUpperCase()} ${path}`)));
  details.append(element("p", described.description ?? described.summary ?? ""));
  for (const one of described.parameters ?? []) {
    details.append(element("p", element("code", one.name), ` in the ${one.in}: ${JSON.stringify(one.schema)}`));
  }
  const body = described.requestBody?.content?.["application/json"]?.schema;
  if (body) details.append(element("p", "Body:"), element("pre", JSON.stringify(resolved(body, schemas), null, 2)));
  return details;
}

const place = document.getElementById("paths");
try {
  const api = await (await fetch("/openapi.json")).json();
  const groups = new Map();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, described] of Object.entries(methods)) {
      const group = described.tags?.[0] ?? "other";
      if (!groups.has(group)) groups.set(group, element("section", element("h2", group)));
      groups.get(group).append(operation(path, method, described, api.components?.schemas ?? {}));
    }
  }
  place.replaceChildren(...groups.values());
} catch (error) {
  place.replaceChildren(element("p", `The API's description cannot be loaded: ${error.message}`));
}
