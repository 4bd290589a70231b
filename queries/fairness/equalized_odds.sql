-- Equalised odds: the larger of the distances between two groups' true and between their false positive
-- rates. Of all comparisons the largest, unsigned.
-- views: _groups.sql
-- views: _decisions.sql
-- compared: bool_or(label AND pred IS NOT NULL AND weight > 0) AND bool_or(NOT label AND pred IS NOT NULL AND weight > 0)
SELECT slice, max(greatest(tpr, fpr)) AS value
FROM odds_gaps
GROUP BY slice
