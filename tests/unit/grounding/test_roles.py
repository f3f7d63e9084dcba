"""Whom a document calls by a role, and a claim in which the role stands for the name."""

import pytest

from grounding.roles import in_roles, roles

LEASE = "The landlord is Harbour Mill Estates Limited. The tenant is Brightwater Ceramics Limited, a potter of Leeds."


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (LEASE, {"Harbour Mill Estates": "the landlord", "Brightwater Ceramics": "the tenant"}),
        (
            'between Northwind Traders Ltd. (the "Supplier") and Contoso Foods, Inc. (hereinafter “Customer”).',
            {"Northwind Traders": "the Supplier", "Contoso Foods": "the Customer"},
        ),
        ("Die Vermieterin ist die Müller Immobilien GmbH.", {"Müller Immobilien": "die Vermieterin"}),
        ("Le locataire est la société Moulins Bleus SARL.", {"Moulins Bleus": "le locataire"}),
        ("The tenant is Ann. The term is ten years. The Mill (built in 1830) stands.", {}),
    ],
)
def test_a_definition_gives_a_name_its_role(text: str, found: dict[str, str]) -> None:
    defined = roles(text)
    assert {name: one.role for name, one in defined.items()} == found
    assert all(name in text[one.start : one.end] for name, one in defined.items())


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("Brightwater Ceramics pays Harbour Mill Estates Limited.", "The tenant pays the landlord."),
        ("A key of Brightwater Ceramics's is lost.", "A key of the tenant's is lost."),
        ("The Harbour Mill lease ends.", "The Harbour Mill lease ends."),
        ("Brightwater Ceramicsware pays.", "Brightwater Ceramicsware pays."),
    ],
)
def test_a_whole_name_is_replaced_by_its_role_and_no_part_of_one(claim: str, said: str) -> None:
    assert in_roles(claim, roles(LEASE))[0] == said
