"""Questions, tweets and hotel reviews of 2 to 77 classes, in English, Chinese and French.

``banking77`` has questions of bank customers, ``emotion6`` English tweets, ``chnsenti_zh`` Chinese hotel
reviews and ``tweetsent_fr`` French tweets. No checksums of the originals are published, so these data sets
are found in a folder but not downloaded. Duplicates and texts with contradictory labels are removed.
"""

from typing import Any

from dropglm.datasets.dataset import DatasetEntry, StoredTable


def build(frame: Any) -> dict[str, Any]:
    """Return the fields of ``Dataset``; labels are the names of the classes."""
    return {"texts": frame["text"].to_numpy(), "y": frame["label"].to_numpy().astype(str)}


def _entry(
    name: str, summary: str, rows: int, classes: tuple[str, ...], terms: str, citation: str, repository: str
) -> DatasetEntry:
    """Return a data set of texts and labels without a split."""
    origin = (
        f"the texts of github.com/{repository}, without duplicates and without texts that have several labels"
    )
    return DatasetEntry(
        summary=summary,
        rows=rows,
        classes=classes,
        terms=terms,
        citation=citation,
        note=(
            f"Labels are the names of the classes. Source: {origin}. Rows are in random order, without an "
            "official split."
        ),
        build=build,
        table=StoredTable(
            file=f"{name}.parquet",
            rows=rows,
            columns={"text": "String", "label": "String"},
            origin=origin,
        ),
    )


INTENTS = (
    "Refund_not_showing_up", "activate_my_card", "age_limit", "apple_pay_or_google_pay", "atm_support",
    "automatic_top_up", "balance_not_updated_after_bank_transfer",
    "balance_not_updated_after_cheque_or_cash_deposit", "beneficiary_not_allowed", "cancel_transfer",
    "card_about_to_expire", "card_acceptance", "card_arrival", "card_delivery_estimate", "card_linking",
    "card_not_working", "card_payment_fee_charged", "card_payment_not_recognised",
    "card_payment_wrong_exchange_rate", "card_swallowed", "cash_withdrawal_charge",
    "cash_withdrawal_not_recognised", "change_pin", "compromised_card", "contactless_not_working",
    "country_support", "declined_card_payment", "declined_cash_withdrawal", "declined_transfer",
    "direct_debit_payment_not_recognised", "disposable_card_limits", "edit_personal_details",
    "exchange_charge", "exchange_rate", "exchange_via_app", "extra_charge_on_statement", "failed_transfer",
    "fiat_currency_support", "get_disposable_virtual_card", "get_physical_card", "getting_spare_card",
    "getting_virtual_card", "lost_or_stolen_card", "lost_or_stolen_phone", "order_physical_card",
    "passcode_forgotten", "pending_card_payment", "pending_cash_withdrawal", "pending_top_up",
    "pending_transfer", "pin_blocked", "receiving_money", "request_refund", "reverted_card_payment?",
    "supported_cards_and_currencies", "terminate_account", "top_up_by_bank_transfer_charge",
    "top_up_by_card_charge", "top_up_by_cash_or_cheque", "top_up_failed", "top_up_limits", "top_up_reverted",
    "topping_up_by_card", "transaction_charged_twice", "transfer_fee_charged", "transfer_into_account",
    "transfer_not_received_by_recipient", "transfer_timing", "unable_to_verify_identity",
    "verify_my_identity", "verify_source_of_funds", "verify_top_up", "virtual_card_not_working",
    "visa_or_mastercard", "why_verify_identity", "wrong_amount_of_cash_received",
    "wrong_exchange_rate_for_cash_withdrawal",
)  # fmt: skip

BANKING77 = _entry(
    "banking77",
    "questions of bank customers, labelled by 77 intents",
    13_072,
    INTENTS,
    "CC BY 4.0",
    "Casanueva and others: Efficient Intent Detection with Dual Sentence Encoders, 2020.",
    "PolyAI-LDN/task-specific-datasets",
)
EMOTION6 = _entry(
    "emotion6",
    "English tweets, labelled by six emotions",
    19_897,
    ("anger", "fear", "joy", "love", "sadness", "surprise"),
    "No licence stated; research use.",
    "Saravia and others: CARER, EMNLP 2018.",
    "niuzaisheng/AttExplainer",
)
CHNSENTI_ZH = _entry(
    "chnsenti_zh",
    "Chinese hotel reviews, positive or negative",
    7_765,
    ("neg", "pos"),
    "No licence stated.",
    "Tan: ChnSentiCorp, hotel reviews.",
    "SophonPlus/ChineseNlpCorpus",
)
TWEETSENT_FR = _entry(
    "tweetsent_fr",
    "French tweets, negative, neutral or positive",
    3_029,
    ("neg", "neu", "pos"),
    "Apache 2.0",
    "Barbieri and others: XLM-T, 2022.",
    "cardiffnlp/xlm-t",
)
