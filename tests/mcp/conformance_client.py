"""The client that the official conformance suite drives: an MCPClient and nothing else.

The suite starts it with the server's URL as the last argument and the scenario's name in MCP_CONFORMANCE_SCENARIO:
``conformance client --command "python tests/mcp/conformance_client.py" --suite core`` (npm's
``@modelcontextprotocol/conformance`` wants Node 22, which npm's package ``node`` brings).

With 0.1.16 and mcp 2.3: all 4 of the core, and 22 of 23 of ``auth/``, extensions and drafts among them. The one left,
``2025-03-26-oauth-metadata-backcompat``, names an issuer in its metadata that isn't where the metadata was found; the SDK
refuses that, and rightly.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2

from nbtoolkit.mcp import HttpMCPConfig, MCPClient, OAuthClient
from nbtoolkit.mcp.oauth import SignIn, Tokens


async def accept_defaults(message: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {}


async def sign_in(request: SignIn) -> str | None:
    """Go where a browser would, as far as the way back."""
    async with httpx2.AsyncClient() as browser:
        answer = await browser.get(request.url, follow_redirects=False)
        return answer.headers.get("location")


async def initialize(client: MCPClient) -> None:
    await client.list_tools()


async def call_a_tool(client: MCPClient) -> None:
    tool = await client.get_tool("add_numbers")
    print(await tool(a=5, b=3))


async def call_them_all(client: MCPClient) -> None:
    for tool in await client.list_tools():
        print(await tool())


SCENARIOS: dict[str, Callable[[MCPClient], Awaitable[None]]] = {
    "initialize": initialize,
    "tools_call": call_a_tool,
    "elicitation-sep1034-client-defaults": call_them_all,
    "sse-retry": call_them_all,
}


def signs_in(scenario: str, url: str) -> Any:
    """How the client is known where a scenario says so."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    if scenario == "auth/basic-cimd":
        return OAuthClient(metadata_url="https://conformance-test.local/client-metadata.json")
    if scenario == "auth/pre-registration":
        return OAuthClient(context["client_id"], context["client_secret"])
    if scenario == "auth/client-credentials-basic":
        return OAuthClient(context["client_id"], context["client_secret"], machine=True)
    if scenario == "auth/client-credentials-jwt":
        from mcp.client.auth.extensions.client_credentials import PrivateKeyJWTOAuthProvider, SignedJWTParameters

        signed = SignedJWTParameters(
            issuer=context["client_id"],
            subject=context["client_id"],
            signing_key=context["private_key_pem"],
            signing_algorithm=context.get("signing_algorithm", "ES256"),
        )
        return PrivateKeyJWTOAuthProvider(url, Tokens(url), context["client_id"], signed.create_assertion_provider())
    if scenario == "auth/cross-app-access-complete-flow":
        return cross_app(context, url)
    return None


def cross_app(context: dict[str, Any], url: str) -> Any:
    """Sign in by what an enterprise's own sign-in says of the person."""
    from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider

    async def exchange(audience: str, resource: str) -> str:
        async with httpx2.AsyncClient() as http:
            answer = await http.post(
                context["idp_token_endpoint"],
                data={
                    "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
                    "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
                    "subject_token": context["idp_id_token"],
                    "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
                    "audience": audience,
                    "resource": resource,
                    "client_id": context["idp_client_id"],
                },
            )
            return str(answer.json()["access_token"])

    known = httpx2.get(url.removesuffix("/mcp") + "/.well-known/oauth-protected-resource/mcp").json()
    issuer = known["authorization_servers"][0]
    return IdentityAssertionOAuthProvider(
        url,
        Tokens(url),
        context["client_id"],
        context["client_secret"],
        issuer,
        exchange,
        token_endpoint_auth_method="client_secret_basic",
    )


async def main() -> None:
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    client = MCPClient(
        name="conformance",
        is_stateful=True,
        mcp_config=HttpMCPConfig(url=sys.argv[-1]),
        elicitation_handler=accept_defaults,
        oauth_handler=sign_in,
        auth=signs_in(scenario, sys.argv[-1]),
    )
    async with client:
        # The auth scenarios look at the sign-in, then at a call.
        await SCENARIOS.get(scenario, call_them_all)(client)


if __name__ == "__main__":
    asyncio.run(main())
