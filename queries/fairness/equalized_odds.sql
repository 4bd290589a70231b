-- Equalised odds: the larger of the distances between two groups' true and between their false positive
-- rates. Of all comparisons the largest, unsigned.
-- views: _groups.sql
-- views: _decisions.sql
SELECT slice, max(greatest(tpr, fpr)) AS value
FROM odds_gaps
GROUP BY slice
