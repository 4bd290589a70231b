-- Average odds: the difference between the groups' means of the true and the false positive rate. A group
-- needs both rates.
-- views: _groups.sql
-- views: _decisions.sql
-- compared: bool_or(label AND pred IS NOT NULL AND weight > 0) AND bool_or(NOT label AND pred IS NOT NULL AND weight > 0)
SELECT slice, difference((tpr + fpr) / 2, (ref_tpr + ref_fpr) / 2) AS value
FROM odds
GROUP BY slice
